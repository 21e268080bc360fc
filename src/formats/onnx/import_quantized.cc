// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Quantised operators. Where one scale and zero, or one for each channel, hold, they become quantize and dequantize
// around products, which a pass turns into products of integers; the rest computes on the numbers that they stand for.
#include "formats/onnx/import_quantized.h"

#include <algorithm>
#include <limits>

#include "formats/onnx/tensor_data.h"
#include "ops/ids.h"
#include "ops/window.h"
#include "tensor/dtype.h"
#include "thalweg/ops.h"
#include "thalweg/stored_types.h"

namespace thalweg::onnx {
namespace {

/// A scale or zero point lined up with `x`: one for all, one for each place along `axis`, or one for each block of
/// `block` places.
Value* lined_up(const NodeContext& context, Value* parameter, Value* x, int64_t axis, int64_t block) {
  const int rank = x->shape().rank();
  if (parameter == nullptr || parameter->shape().rank() == 0) return parameter;
  if (parameter->shape().rank() == 1 && (parameter->shape()[0] == 1 || rank == 0)) {
    return ops::reshape(parameter, {});
  }
  axis = normal_axis(context, axis, rank);
  if (block == 0) {
    context.require(parameter->shape().rank() == 1, "scales of shape ", parameter->shape(), " need a block_size");
    std::vector<int64_t> along(static_cast<size_t>(rank), 1);
    along[static_cast<size_t>(axis)] = -1;
    return ops::reshape(parameter, along);
  }
  const Shape blocks = static_shape(context, parameter);
  const Shape whole = static_shape(context, x);
  context.require(blocks.rank() == rank && block > 0 && block <= kMostElements, "scales of shape ", blocks,
                  " for blocks of ", block, " do not fit ", whole);
  std::vector<int64_t> wide = blocks.dims();
  wide.insert(wide.begin() + axis + 1, block);
  Value* spread = ops::expand(ops::unsqueeze(parameter, {axis + 1}), wide);
  std::vector<int64_t> flat = blocks.dims();
  flat[static_cast<size_t>(axis)] *= block;
  spread = ops::reshape(spread, flat);
  return ops::slice(spread, {0}, {whole[static_cast<int>(axis)]}, {axis});
}

struct Bounds {
  double low, high;
};

Bounds bounds_of(const NodeContext& context, DType dtype) {
  if (dtype == stored::kI4) return {-8, 7};
  if (dtype == stored::kU4) return {0, 15};
  if (dtype == stored::kI2) return {-2, 1};
  if (dtype == stored::kU2) return {0, 3};
  context.require(!is_floating(dtype) && dtype != DType::kBool, "quantisation to ", name_of(dtype),
                  " is not supported");
  return dispatch_arithmetic(dtype, [](auto tag) {
    using T = decltype(tag);
    return Bounds{static_cast<double>(std::numeric_limits<T>::lowest()),
                  static_cast<double>(std::numeric_limits<T>::max())};
  });
}

/// A float of 4 or 8 bits.
bool is_small_float(DType dtype) { return stored::is_narrow(dtype) && dtype <= stored::kF4E2M1; }

/// round(x / scale) + zero point, cut to the range of the type.
Value* quantize(const NodeContext& context, Value* x, Value* scale, Value* zero, DType dtype) {
  if (is_small_float(dtype)) {
    // The conversion rounds, and cuts to the largest number unless the node says otherwise. The zero point is 0.
    Attributes attrs{{"to", std::string(name_of(dtype))}};
    attrs.set("saturate", context.integer("saturate", 1));
    return context.graph().add(op::kCast, {ops::div(x, scale)}, std::move(attrs))->output();
  }
  const Bounds bounds = bounds_of(context, dtype);
  Value* rounded = ops::round(ops::div(x, scale));
  if (zero != nullptr) rounded = ops::add(rounded, ops::cast(zero, rounded->dtype()));
  return ops::cast(ops::clip(rounded, bounds.low, bounds.high), dtype);
}

bool is_small_integer(DType dtype) {
  return dtype == DType::kU8 || dtype == DType::kI8 || dtype == DType::kU16 || dtype == DType::kI16;
}

/// A scale or zero as the ops quantize and dequantize take it: a number, or a vector along the axis.
Value* number_or_vector(Value* parameter) {
  if (parameter == nullptr || parameter->shape().rank() != 1 || parameter->shape()[0] != 1) return parameter;
  return ops::reshape(parameter, {});
}

Value* dequantize(Value* x, Value* scale, Value* zero) {
  // The difference of two integers of 32 bits may not be exact in f32.
  const DType wide = size_of(x->dtype()) >= 4 ? DType::kF64 : DType::kF32;
  Value* real = ops::cast(x, wide);
  if (zero != nullptr) real = ops::sub(real, ops::cast(zero, wide));
  return ops::mul(ops::cast(real, DType::kF32), ops::cast(scale, DType::kF32));
}

}  // namespace

Value* real_numbers(const NodeContext& context, Value* x, Value* scale, Value* zero, int64_t axis) {
  const Shape& scales = scale->shape();
  if (scales.rank() <= 1 && is_small_integer(x->dtype()) && scale->dtype() == DType::kF32 &&
      (zero == nullptr || zero->dtype() == x->dtype())) {
    scale = number_or_vector(scale);
    const int64_t along = scale->shape().rank() == 1 ? normal_axis(context, axis, x->shape().rank()) : 0;
    zero = number_or_vector(zero);
    if (zero != nullptr && zero->shape() != scale->shape()) zero = ops::expand(zero, scale->shape().dims());
    return ops::dequantize(x, scale, zero, along, context.name());
  }
  return dequantize(x, lined_up(context, scale, x, axis, 0), lined_up(context, zero, x, axis, 0));
}

Value* quantized_numbers(const NodeContext& context, Value* real, Value* scale, Value* zero, DType dtype) {
  context.require(is_small_integer(dtype), "quantisation to ", name_of(dtype), " is not supported");
  return ops::quantize(ops::cast(real, DType::kF32), number_or_vector(ops::cast(scale, DType::kF32)),
                       number_or_vector(zero), dtype, 0, context.name());
}

namespace {

Value* quantize_linear(const NodeContext& context) {
  Value* x = context.input(0);
  Value* scale = context.input(1);
  Value* zero = context.optional(2);
  DType dtype = zero != nullptr ? zero->dtype() : DType::kU8;
  if (zero == nullptr && context.integer("output_dtype", 0) != 0) {
    const auto asked = dtype_of(static_cast<DataType>(context.integer("output_dtype", 0)));
    context.require(asked.has_value(), "the element type asked for is not supported");
    dtype = *asked;
  }
  const int64_t axis = context.integer("axis", 1), block = context.integer("block_size", 0);
  // Two-byte floats would round the quotient before it is rounded to an integer.
  x = ops::cast(x, DType::kF32);
  if (block == 0 && scale->shape().rank() <= 1 && is_small_integer(dtype)) {
    const int64_t along = scale->shape().rank() == 1 ? normal_axis(context, axis, x->shape().rank()) : 0;
    return ops::quantize(x, number_or_vector(ops::cast(scale, DType::kF32)), number_or_vector(zero), dtype, along,
                         context.name());
  }
  scale = lined_up(context, ops::cast(scale, DType::kF32), x, axis, block);
  return quantize(context, x, scale, lined_up(context, zero, x, axis, block), dtype);
}

Value* dequantize_linear(const NodeContext& context) {
  Value* x = context.input(0);
  Value* scale = context.input(1);
  const int64_t axis = context.integer("axis", 1), block = context.integer("block_size", 0);
  const bool to_f32 = context.integer("output_dtype", 0) == 0 && scale->dtype() == DType::kF32;
  if (block == 0 && scale->shape().rank() <= 1 && is_small_integer(x->dtype()) && to_f32) {
    const int64_t along = scale->shape().rank() == 1 ? normal_axis(context, axis, x->shape().rank()) : 0;
    return ops::dequantize(x, number_or_vector(scale), number_or_vector(context.optional(2)), along, context.name());
  }
  scale = lined_up(context, scale, x, axis, block);
  DType dtype = scale->dtype();
  if (context.integer("output_dtype", 0) != 0) {
    dtype = dtype_of(static_cast<DataType>(context.integer("output_dtype", 0))).value_or(dtype);
  }
  return ops::cast(dequantize(x, scale, lined_up(context, context.optional(2), x, axis, block)), dtype);
}

/// The range of the data itself, widened to hold 0, in 255 steps.
std::vector<Value*> dynamic_quantize_linear(const NodeContext& context) {
  return ops::dynamic_quantize(context.input(0), context.name());
}

/// The exact difference to the zero point, which is one for all or, for a matrix or a weight, one for each row, column
/// or channel along `axis`.
Value* shifted(const NodeContext& context, Value* x, Value* zero, int64_t axis) {
  x = ops::cast(x, DType::kF64);
  if (zero == nullptr) return x;
  zero = ops::cast(zero, DType::kF64);
  return ops::sub(x, zero->shape().rank() == 1 ? lined_up(context, zero, x, axis, 0) : zero);
}

/// True if all elements of the input are known to be 0.
bool is_zero(const NodeContext& context, size_t index) {
  if (!context.is_known(index)) return false;
  const std::vector<int64_t> values = context.content_integers(index);
  return std::all_of(values.begin(), values.end(), [](int64_t value) { return value == 0; });
}

Value* matmul_integer(const NodeContext& context) {
  const Value* left = context.input(0);
  const Value* right = context.input(1);
  Value* zero = number_or_vector(context.optional(2));
  const bool one_zero = zero == nullptr || zero->shape().rank() == 0;
  const bool plain =
      right->dtype() == DType::kI8 && right->shape().rank() == 2 && (!context.has(3) || is_zero(context, 3));
  if (left->dtype() == DType::kU8 && left->shape().rank() >= 2 && one_zero && plain) {
    return ops::matmul_integer(context.input(0), context.input(1), zero, context.name());
  }
  Value* a = shifted(context, context.input(0), context.optional(2), -2);
  Value* b = shifted(context, context.input(1), context.optional(3), -1);
  return ops::cast(ops::matmul(a, b, false, false, context.name()), DType::kI32);
}

bool is_byte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }

/// True if inputs `first` (the weight), its scale and its zero are what products of integers can take: i8 around 0.
bool has_plain_weights(const NodeContext& context, size_t first) {
  return context.input(first)->dtype() == DType::kI8 && is_zero(context, first + 2);
}

/// True if input `first` is bytes with one scale and zero.
bool has_plain_bytes(const NodeContext& context, size_t first) {
  const Shape& scale = context.input(first + 1)->shape();
  return is_byte(context.input(first)->dtype()) && scale.is_static() && scale.num_elements() == 1 &&
         context.input(first + 1)->dtype() == DType::kF32;
}

/// Inputs `first`, its scale and its zero as the number that they stand for.
Value* dequantized(const NodeContext& context, size_t first, int64_t axis) {
  return ops::dequantize(context.input(first), number_or_vector(context.input(first + 1)),
                         number_or_vector(context.input(first + 2)), axis);
}

/// The result, with its scale and zero in inputs 6 and 7.
Value* quantized_result(const NodeContext& context, Value* real) {
  Value* zero = number_or_vector(context.input(7));
  return ops::quantize(real, number_or_vector(context.input(6)), zero, zero->dtype());
}

Value* qlinear_matmul(const NodeContext& context) {
  if (has_plain_bytes(context, 0) && has_plain_weights(context, 3) && context.input(3)->shape().rank() == 2 &&
      context.input(6)->dtype() == DType::kF32) {
    return quantized_result(
        context, ops::matmul(dequantized(context, 0, 0), dequantized(context, 3, 1), false, false, context.name()));
  }
  Value* a = shifted(context, context.input(0), context.input(2), -2);
  Value* b = shifted(context, context.input(3), context.input(5), -1);
  const auto scale = [&](size_t index, Value* x, int64_t axis) {
    return lined_up(context, ops::cast(context.input(index), DType::kF64), x, axis, 0);
  };
  Value* product =
      ops::mul(ops::mul(ops::matmul(a, b, false, false, context.name()), scale(1, a, -2)), scale(4, b, -1));
  Value* zero = context.input(7);
  return quantize(context, product, ops::cast(context.input(6), DType::kF64), zero, zero->dtype());
}

Value* convolve(const NodeContext& context, Value* x, Value* weight, Value* bias = nullptr) {
  const WindowAttributes window = read_window(context, x->shape(), spatial_dims(weight->shape()));
  ops::ConvOptions options;
  options.strides = window.strides;
  options.pads = window.pads;
  options.dilations = window.dilations;
  options.groups = context.integer("group", 1);
  return ops::conv(x, weight, bias, options, context.name());
}

Value* conv_integer(const NodeContext& context) {
  Value* x = shifted(context, context.input(0), context.optional(2), 1);
  Value* weight = shifted(context, context.input(1), context.optional(3), 0);
  return ops::cast(convolve(context, x, weight), DType::kI32);
}

Value* qlinear_conv(const NodeContext& context) {
  if (has_plain_bytes(context, 0) && has_plain_weights(context, 3)) {
    Value* bias = nullptr;
    if (context.has(8)) {
      // The bias counts in steps of a product.
      Value* step = ops::mul(number_or_vector(context.input(1)), number_or_vector(context.input(4)));
      bias = ops::mul(ops::cast(context.input(8), DType::kF32), step);
    }
    return quantized_result(context, convolve(context, dequantized(context, 0, 0), dequantized(context, 3, 0), bias));
  }
  Value* x = shifted(context, context.input(0), context.input(2), 1);
  Value* weight = shifted(context, context.input(3), context.input(5), 0);
  Value* sum = convolve(context, x, weight);
  std::vector<int64_t> channels(static_cast<size_t>(x->shape().rank() - 1), 1);
  channels[0] = -1;
  if (context.has(8)) sum = ops::add(sum, ops::reshape(ops::cast(context.input(8), DType::kF64), channels));
  Value* weight_scale = ops::cast(context.input(4), DType::kF64);
  if (weight_scale->shape().rank() == 1) weight_scale = ops::reshape(weight_scale, channels);
  Value* real = ops::mul(ops::mul(sum, ops::cast(context.input(1), DType::kF64)), weight_scale);
  Value* zero = context.input(7);
  return quantize(context, real, ops::cast(context.input(6), DType::kF64), zero, zero->dtype());
}

const RegisterConverters kConverters({
    {"QuantizeLinear", single(quantize_linear), op::kQuantize},
    {"DequantizeLinear", single(dequantize_linear), op::kDequantize},
    {"DynamicQuantizeLinear", dynamic_quantize_linear, op::kDynamicQuantize},
    {"MatMulInteger", single(matmul_integer), op::kMatmulInteger},
    {"ConvInteger", single(conv_integer)},
    {"QLinearMatMul", single(qlinear_matmul)},
    {"QLinearConv", single(qlinear_conv)},
});

/// What ONNX Runtime's quantiser writes for types that the standard had not yet.
const RegisterConverters kMicrosoft(
    {
        {"QuantizeLinear", single(quantize_linear)},
        {"DequantizeLinear", single(dequantize_linear)},
        {"QLinearConv", single(qlinear_conv)},
    },
    "com.microsoft");

}  // namespace
}  // namespace thalweg::onnx
