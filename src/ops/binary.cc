// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Elementwise ops of two values, which broadcast: a call for each at the end of this file says all of it.
#include "ops/binary.h"

#include <cmath>
#include <limits>
#include <map>
#include <type_traits>

#include "ops/broadcast.h"
#include "ops/broadcast_index.h"
#include "ops/ids.h"
#include "tensor/dtype.h"
#include "tensor/wrapping.h"
#include "thalweg/ops/activation.h"
#include "thalweg/ops/elementwise.h"

namespace thalweg {
namespace {

// Shape rules.

std::vector<TensorType> infer_pair(const InferContext& context) {
  context.require(context.dtype(0) == context.dtype(1), "element types differ");
  return {{context.dtype(0), broadcast_shapes(context, context.shape(0), context.shape(1))}};
}

std::vector<TensorType> infer_comparison(const InferContext& context) {
  return {{DType::kBool, infer_pair(context)[0].shape}};
}

std::vector<TensorType> infer_integers(const InferContext& context) {
  context.require(!is_floating(context.dtype(0)) && context.dtype(0) != DType::kBool, "the inputs must be integers");
  return infer_pair(context);
}

// Plain forms. The functions are templates over the element type, so that integers stay exact.

template <typename T, typename R, typename F>
void each_pair(const ReferenceCall& call, F function) {
  const BroadcastIndex left(call.in(0).shape(), call.out().shape());
  const BroadcastIndex right(call.in(1).shape(), call.out().shape());
  const T* a = call.in(0).data<T>();
  const T* b = call.in(1).data<T>();
  R* y = call.out().data<R>();
  for (int64_t i = 0; i < call.out().num_elements(); ++i) y[i] = static_cast<R>(function(a[left(i)], b[right(i)]));
}

template <typename F>
ReferenceFunction of_numbers(F function) {
  return [function](const ReferenceCall& call) {
    dispatch_arithmetic(call.in(0).dtype(), [&](auto tag) { each_pair<decltype(tag), decltype(tag)>(call, function); });
  };
}

template <typename F>
ReferenceFunction to_bool(F function) {
  return [function](const ReferenceCall& call) {
    if (call.in(0).dtype() == DType::kBool) return each_pair<bool, bool>(call, function);
    dispatch_arithmetic(call.in(0).dtype(), [&](auto tag) { each_pair<decltype(tag), bool>(call, function); });
  };
}

template <typename F>
ReferenceFunction of_bools(F function) {
  return [function](const ReferenceCall& call) { each_pair<bool, bool>(call, function); };
}

template <typename F>
ReferenceFunction of_integers(F function) {
  return [function](const ReferenceCall& call) {
    dispatch_arithmetic(call.in(0).dtype(), [&](auto tag) {
      using T = decltype(tag);
      if constexpr (std::is_integral_v<T>) each_pair<T, T>(call, function);
    });
  };
}

/// The sign follows the dividend if `truncated`, else the divisor. A remainder of division by 0 is 0 for integers.
template <typename T>
T remainder(T a, T b, bool truncated) {
  T rest{};
  if constexpr (std::is_floating_point_v<T>) {
    rest = std::fmod(a, b);
  } else {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;  // the quotient of the lowest number would overflow
    }
    rest = static_cast<T>(a % b);
  }
  return !truncated && rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
}

void modulo(const ReferenceCall& call) {
  const bool truncated = call.attrs().flag("truncated");
  of_numbers([&](auto a, auto b) { return remainder(a, b, truncated); })(call);
}

/// To shift by the width or more leaves nothing; a negative distance counts as a large one.
template <typename T>
T shifted_left(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return static_cast<U>(b) < 8 * sizeof(T) ? static_cast<T>(uint64_t{static_cast<U>(a)} << b) : T{};
}

/// Likewise, but the sign of a signed number fills what becomes free.
template <typename T>
T shifted_right(T a, T b) {
  if (static_cast<std::make_unsigned_t<T>>(b) >= 8 * sizeof(T)) return static_cast<T>(a < 0 ? -1 : 0);
  return static_cast<T>(a >> b);
}

// Gradients.

using Side = Value* (*)(GradientContext& context, Value* dy);

/// From the gradients of both sides before the broadcast is undone.
template <typename Left, typename Right>
GradientRule sides(Left left, Right right) {
  return [left, right](GradientContext& context) {
    Value* dy = context.output_gradient();
    if (context.wants(0)) context.set(0, ops::sum_to(left(context, dy), context.input(0)->shape()));
    if (context.wants(1)) context.set(1, ops::sum_to(right(context, dy), context.input(1)->shape()));
  };
}

/// Of a minimum or maximum: ties go to the left side.
GradientRule where_left_wins(Value* (*wins)(Value*, Value*)) {
  const auto chosen = [wins](GradientContext& context, Value* dy, bool left) {
    Value* condition = wins(context.input(0), context.input(1));
    Value* zero = ops::scalar_like(dy, 0.0);
    return left ? ops::where(condition, dy, zero) : ops::where(condition, zero, dy);
  };
  return sides([chosen](GradientContext& context, Value* dy) { return chosen(context, dy, true); },
               [chosen](GradientContext& context, Value* dy) { return chosen(context, dy, false); });
}

Value* same(GradientContext&, Value* dy) { return dy; }
Value* is_positive(Value* x) { return ops::greater(x, ops::scalar_like(x, 0.0)); }

/// One op. Without a gradient rule the gradient is zero where it exists.
void define(OpId id, const char* doc, InferRule infer, ReferenceFunction reference, GradientRule gradient,
            std::vector<OnnxName> onnx, std::vector<std::string> torch = {}, Traits traits = {}) {
  const bool flat = gradient == nullptr;
  RegisterOp(id, 2, doc, std::move(infer), std::move(gradient), {},
             {.zero_gradient = flat,
              .reference = std::move(reference),
              .traits = traits | Trait::kElementwise,
              .data_inputs = 2,
              .onnx = std::move(onnx),
              .torch = std::move(torch)});
}

void define_arithmetic() {
  define(op::kAdd, "a + b.", infer_pair, of_numbers([](auto a, auto b) { return wrapping_sum(a, b); }),
         sides(same, same), {{"Add", 7}}, {}, Trait::kFollowsBf16);
  define(op::kSub, "a - b.", infer_pair, of_numbers([](auto a, auto b) { return wrapping_difference(a, b); }),
         sides(same, [](GradientContext&, Value* dy) { return ops::neg(dy); }), {{"Sub", 7}});
  define(op::kMul, "a * b.", infer_pair, of_numbers([](auto a, auto b) { return wrapping_product(a, b); }),
         sides([](GradientContext& c, Value* dy) { return ops::mul(dy, c.input(1)); },
               [](GradientContext& c, Value* dy) { return ops::mul(dy, c.input(0)); }),
         {{"Mul", 7}}, {"mul.Tensor", "mul.Scalar"});
  define(op::kDiv, "a / b; integers are cut towards 0, and by 0 are 0.", infer_pair,
         of_numbers([](auto a, auto b) { return wrapping_quotient(a, b); }),
         sides([](GradientContext& c, Value* dy) { return ops::div(dy, c.input(1)); },
               [](GradientContext& c, Value* dy) { return ops::neg(ops::div(ops::mul(dy, c.output()), c.input(1))); }),
         {{"Div", 7}}, {"div.Tensor", "div.Scalar"});
  define(op::kPow, "a to the power of b.", infer_pair,
         of_numbers([](auto a, auto b) { return convert_element<decltype(a)>(std::pow(a, b)); }),
         sides(
             [](GradientContext& c, Value* dy) {
               Value* lowered = ops::pow(c.input(0), ops::sub(c.input(1), 1.0));
               return ops::mul(dy, ops::mul(c.input(1), lowered));
             },
             [](GradientContext& c, Value* dy) { return ops::mul(dy, ops::mul(c.output(), ops::log(c.input(0)))); }),
         {{"Pow", 7}}, {"pow.Tensor_Tensor"});
  define(op::kPrelu, "a where positive, a * b elsewhere.", infer_pair,
         of_numbers([](auto a, auto b) { return a > 0 ? a : wrapping_product(a, b); }),
         sides([](GradientContext& c,
                  Value* dy) { return ops::where(is_positive(c.input(0)), dy, ops::mul(dy, c.input(1))); },
               [](GradientContext& c, Value* dy) {
                 Value* product = ops::mul(dy, c.input(0));
                 return ops::where(is_positive(c.input(0)), ops::scalar_like(dy, 0.0), product);
               }),
         {{"PRelu", 7}});
  // A NaN on either side gives NaN.
  define(op::kMinimum, "The lesser of a and b.", infer_pair,
         of_numbers([](auto a, auto b) { return b < a || b != b ? b : a; }), where_left_wins(ops::less_equal),
         {{"Min", 8}}, {"minimum.default"});
  define(op::kMaximum, "The greater of a and b.", infer_pair,
         of_numbers([](auto a, auto b) { return a < b || b != b ? b : a; }), where_left_wins(ops::greater_equal),
         {{"Max", 8}}, {"maximum.default"});
}

void define_comparisons() {
  define(op::kEqual, "Whether a = b.", infer_comparison, to_bool([](auto a, auto b) { return a == b; }), nullptr,
         {{"Equal", 7}}, {"eq.Tensor", "eq.Scalar"});
  define(op::kLess, "Whether a < b.", infer_comparison, to_bool([](auto a, auto b) { return a < b; }), nullptr,
         {{"Less", 7}}, {"lt.Tensor", "lt.Scalar"});
  define(op::kLessEqual, "Whether a <= b.", infer_comparison, to_bool([](auto a, auto b) { return a <= b; }), nullptr,
         {{"LessOrEqual", 12}}, {"le.Tensor", "le.Scalar"});
  define(op::kGreater, "Whether a > b.", infer_comparison, to_bool([](auto a, auto b) { return a > b; }), nullptr,
         {{"Greater", 7}}, {"gt.Tensor", "gt.Scalar"});
  define(op::kGreaterEqual, "Whether a >= b.", infer_comparison, to_bool([](auto a, auto b) { return a >= b; }),
         nullptr, {{"GreaterOrEqual", 12}}, {"ge.Tensor", "ge.Scalar"});
  define(op::kLogicalAnd, "Whether both are true.", infer_comparison, of_bools([](bool a, bool b) { return a && b; }),
         nullptr, {{"And", 7}}, {"logical_and.default"});
  define(op::kLogicalOr, "Whether one is true.", infer_comparison, of_bools([](bool a, bool b) { return a || b; }),
         nullptr, {{"Or", 7}}, {"logical_or.default"});
  define(op::kLogicalXor, "Whether one alone is true.", infer_comparison,
         of_bools([](bool a, bool b) { return a != b; }), nullptr, {{"Xor", 7}}, {"logical_xor.default"});
}

void define_bits() {
  define(op::kBitAnd, "The bits that both have.", infer_integers, of_integers([](auto a, auto b) { return a & b; }),
         nullptr, {{"BitwiseAnd", 18}});
  define(op::kBitOr, "The bits that one has.", infer_integers, of_integers([](auto a, auto b) { return a | b; }),
         nullptr, {{"BitwiseOr", 18}});
  define(op::kBitXor, "The bits that one alone has.", infer_integers, of_integers([](auto a, auto b) { return a ^ b; }),
         nullptr, {{"BitwiseXor", 18}});
  define(op::kShiftLeft, "The bits of a, further up by b.", infer_integers,
         of_integers([](auto a, auto b) { return shifted_left(a, b); }), nullptr, {});
  define(op::kShiftRight, "The bits of a, further down by b.", infer_integers,
         of_integers([](auto a, auto b) { return shifted_right(a, b); }), nullptr, {});
}

struct DefineAll {
  DefineAll() {
    define_arithmetic();
    define_comparisons();
    define_bits();
  }
};
const DefineAll kAll;
/// a - b * q: the quotient q is whole, and has no gradient.
GradientRule of_rest() {
  return sides(same, [](GradientContext& c, Value* dy) {
    Value* whole = ops::round(ops::div(ops::sub(c.input(0), c.output()), c.input(1)));
    return ops::neg(ops::mul(dy, whole));
  });
}

const RegisterOp kModulo(op::kModulo, 2, "The rest of a division, with the sign of the divisor.", infer_pair, of_rest(),
                         {attr::flag("truncated", "with the sign of the dividend").in_onnx("fmod")},
                         {.reference = modulo, .traits = Trait::kElementwise, .data_inputs = 2});

}  // namespace

BinaryScalar find_binary(const std::string& op) {
  static const std::map<std::string, BinaryScalar> table = {
      {op::kAdd, [](double a, double b) { return a + b; }},
      {op::kSub, [](double a, double b) { return a - b; }},
      {op::kMul, [](double a, double b) { return a * b; }},
      {op::kDiv, [](double a, double b) { return a / b; }},
      {op::kPow, [](double a, double b) { return std::pow(a, b); }},
      {op::kPrelu, [](double a, double b) { return a > 0 ? a : a * b; }},
      {op::kMinimum, [](double a, double b) { return b < a || b != b ? b : a; }},
      {op::kMaximum, [](double a, double b) { return a < b || b != b ? b : a; }}};
  const auto found = table.find(op);
  return found != table.end() ? found->second : nullptr;
}

}  // namespace thalweg
