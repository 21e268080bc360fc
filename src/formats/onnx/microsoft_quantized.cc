// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Operators of the domain com.microsoft that ONNX Runtime's quantiser writes. They become quantize and dequantize
// around the operators that they are forms of, which a pass turns into arithmetic of integers where kernels have it.
#include "formats/onnx/import_quantized.h"
#include "formats/onnx/import_standard.h"
#include "thalweg/ops.h"

namespace thalweg::onnx {
namespace {

/// Three inputs from `first` on: integers, their scale, their zero.
Value* real_input(const NodeContext& context, size_t first, int64_t axis = 0) {
  return real_numbers(context, context.input(first), context.input(first + 1), context.optional(first + 2), axis);
}

/// Scale and zero of the result are inputs `scale` and the one behind it; without a zero it has the type of `like`.
Value* quantized_result(const NodeContext& context, Value* real, size_t scale, const Value* like) {
  Value* zero = context.optional(scale + 1);
  return quantized_numbers(context, real, context.input(scale), zero, zero != nullptr ? zero->dtype() : like->dtype());
}

template <Value* (*Function)(Value*, Value*, const std::string&)>
Value* binary(const NodeContext& context) {
  Value* real = Function(real_input(context, 0), real_input(context, 3), context.name());
  return quantized_result(context, real, 6, context.input(0));
}

/// A standard operator on the numbers that input 0 stands for, whose result has its scale in input 3.
Value* around(const NodeContext& context, const std::string& op_type, Attributes attrs) {
  Value* real = real_input(context, 0);
  const bool last = context.flag("channels_last", false);
  const int rank = real->shape().rank();
  std::vector<int64_t> inwards{0, rank - 1}, outwards{0};
  for (int64_t d = 1; d < rank - 1; ++d) inwards.push_back(d);
  for (int64_t d = 2; d < rank; ++d) outwards.push_back(d);
  outwards.push_back(1);
  if (last) real = ops::transpose(real, inwards);
  Value* y = as_standard(context, op_type, {real}, std::move(attrs))[0];
  return quantized_result(context, last ? ops::transpose(y, outwards) : y, 3, context.input(0));
}

/// Without more ado.
template <const char* const& OpType>
Value* same_attributes(const NodeContext& context) {
  return around(context, OpType, context.attrs());
}

/// Over all dimensions from the axis on in models of opsets before 13, as the node itself says.
Value* softmax(const NodeContext& context) {
  Value* real = real_input(context, 0);
  const int rank = real->shape().rank();
  const bool old = context.integer("opset", 13) < 13;
  const int64_t axis = normal_axis(context, context.integer("axis", old ? 1 : -1), rank);
  Value* y = !old || axis == rank - 1 ? ops::softmax(real, axis, context.name())
                                      : ops::reshape(ops::softmax(ops::flatten(real, axis), 1, context.name()),
                                                     static_shape(context, real).dims());
  return quantized_result(context, y, 3, context.input(0));
}

Value* reduce_mean(const NodeContext& context) {
  Value* y = ops::reduce_mean(real_input(context, 0), context.integers("axes"), context.flag("keepdims", true));
  return quantized_result(context, y, 3, context.input(0));
}

/// Parts with scales of their own: input 0 and 1 are scale and zero of the result.
Value* concat(const NodeContext& context) {
  context.require(context.num_inputs() > 2 && (context.num_inputs() - 2) % 3 == 0, "there are ", context.num_inputs(),
                  " inputs, which are not three for each part");
  std::vector<Value*> parts;
  for (size_t i = 2; i < context.num_inputs(); i += 3) parts.push_back(real_input(context, i));
  const int64_t axis = normal_axis(context, context.integer("axis", 0), parts[0]->shape().rank());
  return quantized_result(context, ops::concat(parts, axis), 0, context.input(2));
}

Value* where(const NodeContext& context) {
  Value* y = ops::where(context.input(0), real_input(context, 1), real_input(context, 4));
  return quantized_result(context, y, 7, context.input(1));
}

/// The bias counts in steps of a product.
Value* gemm(const NodeContext& context) {
  const bool transpose_a = context.flag("transA", false), transpose_b = context.flag("transB", false);
  Value* a = real_input(context, 0);
  Value* b = real_input(context, 3, transpose_b ? 0 : 1);
  Value* y = ops::matmul(a, b, transpose_a, transpose_b, context.name());
  const double alpha = context.real("alpha", 1.0);
  if (alpha != 1.0) y = ops::mul(y, alpha);
  if (context.has(6)) {
    Value* step = ops::mul(ops::mul(context.input(1), context.input(4)), alpha);
    y = ops::add(y, ops::mul(ops::cast(context.input(6), DType::kF32), step));
  }
  return context.has(7) ? quantized_result(context, y, 7, context.input(0)) : y;
}

Value* plus_bias(const NodeContext& context, Value* y, size_t index) {
  return context.has(index) ? ops::add(y, context.input(index)) : y;
}

/// The left side is quantised by the range that it has in each run.
Value* dynamic_quantize_matmul(const NodeContext& context) {
  const std::vector<Value*> a = ops::dynamic_quantize(context.input(0), context.name());
  Value* left = ops::dequantize(a[0], a[1], a[2]);
  Value* right = real_numbers(context, context.input(1), context.input(2), context.optional(3), -1);
  return plus_bias(context, ops::matmul(left, right), 4);
}

Value* matmul_integer_to_float(const NodeContext& context) {
  Value* a = real_numbers(context, context.input(0), context.input(2), context.optional(4), -1);
  Value* b = real_numbers(context, context.input(1), context.input(3), context.optional(5), -1);
  return plus_bias(context, ops::matmul(a, b, false, false, context.name()), 6);
}

/// Weights [D, I, 4H], the other way round than those of the standard, with scales [D] or [D, 4H].
Value* lstm_weights(const NodeContext& context, size_t weight, size_t scale) {
  const auto along = [&](Value* value) {
    const Shape shape = value->shape();
    return ops::reshape(value, {shape[0], 1, shape.rank() == 2 ? shape[1] : 1});
  };
  Value* real = ops::cast(context.input(weight), DType::kF32);
  if (context.has(scale + 1)) real = ops::sub(real, ops::cast(along(context.input(scale + 1)), DType::kF32));
  return ops::transpose(ops::mul(real, along(context.input(scale))), {0, 2, 1});
}

/// Computed on the numbers that the weights stand for: what goes through the cell stays f32.
std::vector<Value*> dynamic_quantize_lstm(const NodeContext& context) {
  std::vector<Value*> inputs{context.input(0), lstm_weights(context, 1, 8), lstm_weights(context, 2, 10)};
  for (size_t i = 3; i < 8; ++i) inputs.push_back(context.optional(i));
  return as_standard(context, "LSTM", inputs, context.attrs(), 3);
}

constexpr const char* kSigmoid = "Sigmoid";
constexpr const char* kLeakyRelu = "LeakyRelu";
constexpr const char* kAveragePool = "AveragePool";
constexpr const char* kGlobalAveragePool = "GlobalAveragePool";

const RegisterConverters kConverters(
    {
        {"QLinearAdd", single(binary<ops::add>)},
        {"QLinearMul", single(binary<ops::mul>)},
        {"QLinearConcat", single(concat)},
        {"QLinearWhere", single(where)},
        {"QLinearSigmoid", single(same_attributes<kSigmoid>)},
        {"QLinearLeakyRelu", single(same_attributes<kLeakyRelu>)},
        {"QLinearAveragePool", single(same_attributes<kAveragePool>)},
        {"QLinearGlobalAveragePool", single(same_attributes<kGlobalAveragePool>)},
        {"QLinearSoftmax", single(softmax)},
        {"QLinearReduceMean", single(reduce_mean)},
        {"QGemm", single(gemm)},
        {"DynamicQuantizeMatMul", single(dynamic_quantize_matmul)},
        {"MatMulIntegerToFloat", single(matmul_integer_to_float)},
        {"DynamicQuantizeLSTM", dynamic_quantize_lstm},
    },
    "com.microsoft");

}  // namespace
}  // namespace thalweg::onnx
