// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "ops.h"

namespace thalweg::python {
namespace {

using Unary = Value* (*)(Value*);
using Binary = Value* (*)(Value*, Value*);
using NamedBinary = Value* (*)(Value*, Value*, const std::string&);

void bind_unary(nb::module_& m) {
  def_op(
      m, "relu", [](Value* x) { return ops::relu(x); }, "x"_a);
  static constexpr std::pair<const char*, Unary> kUnary[] = {{"selu", ops::selu},
                                                             {"silu", ops::silu},
                                                             {"mish", ops::mish},
                                                             {"sigmoid", ops::sigmoid},
                                                             {"log_sigmoid", ops::log_sigmoid},
                                                             {"hard_sigmoid", ops::hard_sigmoid},
                                                             {"hard_swish", ops::hard_swish},
                                                             {"tanh", ops::tanh},
                                                             {"softsign", ops::softsign},
                                                             {"tanh_shrink", ops::tanh_shrink},
                                                             {"exp", ops::exp},
                                                             {"log", ops::log},
                                                             {"sqrt", ops::sqrt},
                                                             {"rsqrt", ops::rsqrt},
                                                             {"square", ops::square},
                                                             {"reciprocal", ops::reciprocal},
                                                             {"abs", ops::abs},
                                                             {"neg", ops::neg},
                                                             {"sign", ops::sign},
                                                             {"floor", ops::floor},
                                                             {"ceil", ops::ceil},
                                                             {"round", ops::round},
                                                             {"erf", ops::erf},
                                                             {"sin", ops::sin},
                                                             {"cos", ops::cos},
                                                             {"tan", ops::tan},
                                                             {"asin", ops::asin},
                                                             {"acos", ops::acos},
                                                             {"atan", ops::atan},
                                                             {"sinh", ops::sinh},
                                                             {"cosh", ops::cosh},
                                                             {"asinh", ops::asinh},
                                                             {"acosh", ops::acosh},
                                                             {"atanh", ops::atanh},
                                                             {"logical_not", ops::logical_not},
                                                             {"bit_not", ops::bit_not}};
  for (const auto& [name, function] : kUnary) def_op(m, name, function, "x"_a);
}

/// Functions of a value and numbers; those with a usual number are layers of nn, which know it.
void bind_shaped(nb::module_& m) {
  using WithNumber = Value* (*)(Value*, double);
  static constexpr std::tuple<const char*, WithNumber, const char*> kWithNumber[] = {
      {"leaky_relu", ops::leaky_relu, "slope"},
      {"elu", ops::elu, "alpha"},
      {"celu", ops::celu, "alpha"},
      {"softplus", ops::softplus, "beta"},
      {"hard_shrink", ops::hard_shrink, "lambd"},
      {"soft_shrink", ops::soft_shrink, "lambd"}};
  for (const auto& [name, function, argument] : kWithNumber) def_op(m, name, function, "x"_a, nb::arg(argument));
  def_op(m, "gelu", ops::gelu, "x"_a, "approximate"_a = false);
  def_op(m, "threshold", ops::threshold, "x"_a, "threshold"_a, "value"_a);
  def_op(m, "clip", ops::clip, "x"_a, "low"_a, "high"_a);
  def_op(m, "prelu", ops::prelu, "x"_a, "slope"_a);
}

Value* where(Value* condition, const Operand& a, const Operand& b) {
  const auto value_in = [](const Operand& operand) {
    const auto* value = std::get_if<Value*>(&operand);
    return value != nullptr ? *value : nullptr;
  };
  Value* like = value_in(a) != nullptr ? value_in(a) : value_in(b);
  // Where there is none to be like, numbers are f32.
  if (like == nullptr) like = ops::cast(condition, DType::kF32);
  return ops::where(condition, as_value(like, a), as_value(like, b));
}

void bind_arithmetic(nb::module_& m) {
  static constexpr std::pair<const char*, NamedBinary> kArithmetic[] = {
      {"add", ops::add}, {"sub", ops::sub},         {"mul", ops::mul},        {"div", ops::div},
      {"pow", ops::pow}, {"minimum", ops::minimum}, {"maximum", ops::maximum}};
  for (const auto& [name, function] : kArithmetic) {
    const NamedBinary op = function;
    def_op(
        m, name, [op](Value* a, const Operand& b) { return op(a, as_value(a, b), ""); }, "a"_a, "b"_a);
  }
  static constexpr std::pair<const char*, Binary> kBinary[] = {{"equal", ops::equal},
                                                               {"less", ops::less},
                                                               {"less_equal", ops::less_equal},
                                                               {"greater", ops::greater},
                                                               {"greater_equal", ops::greater_equal},
                                                               {"logical_and", ops::logical_and},
                                                               {"logical_or", ops::logical_or},
                                                               {"logical_xor", ops::logical_xor},
                                                               {"bit_and", ops::bit_and},
                                                               {"bit_or", ops::bit_or},
                                                               {"bit_xor", ops::bit_xor},
                                                               {"shift_left", ops::shift_left},
                                                               {"shift_right", ops::shift_right}};
  for (const auto& [name, function] : kBinary) {
    const Binary op = function;
    def_op(
        m, name, [op](Value* a, const Operand& b) { return op(a, as_value(a, b)); }, "a"_a, "b"_a);
  }
  def_op(
      m, "modulo", [](Value* a, const Operand& b, bool truncated) { return ops::modulo(a, as_value(a, b), truncated); },
      "a"_a, "b"_a, "truncated"_a = false);
  def_op(m, "rsub", ops::rsub, "a"_a, "b"_a, "A number minus a value.");
  def_op(m, "where", where, "condition"_a, "a"_a, "b"_a, "Numbers and arrays take the element type of the other.");
  def_op(m, "cast", ops::cast, "x"_a, "dtype"_a);
  def_op(m, "scalar_like", ops::scalar_like, "like"_a, "value"_a);
}

}  // namespace

void bind_elementwise_ops(nb::module_& ops) {
  bind_unary(ops);
  bind_shaped(ops);
  bind_arithmetic(ops);
}

void bind_ops(nb::module_& module) {
  auto ops = module.def_submodule("ops", R"(Builders of single operations, as the engine has them.

Each appends a node to the graph of its inputs and returns its output. Binary ops broadcast as numpy does.)");
  bind_elementwise_ops(ops);
  bind_shape_ops(ops);
  bind_layer_ops(ops);
  bind_quantized_ops(ops);
  bind_value_methods(module);
}

}  // namespace thalweg::python
