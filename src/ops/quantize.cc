// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// quantize(x, scale[, zero]) -> q      attributes dtype, axis
// dequantize(q, scale[, zero]) -> x    attribute axis
#include "thalweg/ops/quantize.h"

#include "graph/op_registry.h"
#include "ops/ids.h"

namespace thalweg {
namespace {

bool is_small_integer(DType dtype) {
  return dtype == DType::kU8 || dtype == DType::kI8 || dtype == DType::kU16 || dtype == DType::kI16;
}

/// Scale and zero are single numbers, or one for each place along the axis.
void check_parameters(const InferContext& context, DType integers) {
  const Shape& scale = context.shape(1);
  context.require(context.dtype(1) == DType::kF32, "the scale must be f32");
  context.require(scale.rank() <= 1, "the scale must be a number or a vector");
  if (scale.rank() == 1) {
    const int64_t axis = context.attrs().integer("axis");
    context.require(axis >= 0 && axis < context.shape(0).rank(), "there is no axis ", axis);
    const int64_t extent = context.shape(0)[static_cast<int>(axis)];
    context.require(scale[0] == extent || extent == kFree || scale[0] == kFree, "the scale has ", scale[0],
                    " elements for ", extent, " places along axis ", axis);
  }
  if (!context.has(2)) return;
  context.require(context.dtype(2) == integers, "the zero point must be ", name_of(integers));
  context.require(context.shape(2) == scale, "scale and zero point differ in shape");
}

std::vector<TensorType> infer_quantize(const InferContext& context) {
  const DType dtype = dtype_from_name(context.attrs().text("dtype"));
  context.require(context.dtype(0) == DType::kF32, "the input must be f32");
  context.require(is_small_integer(dtype), "quantisation to ", name_of(dtype), " is not supported");
  check_parameters(context, dtype);
  return {{dtype, context.shape(0)}};
}

std::vector<TensorType> infer_dequantize(const InferContext& context) {
  context.require(is_small_integer(context.dtype(0)), "the input must be integers of 8 or 16 bits");
  check_parameters(context, context.dtype(0));
  return {{DType::kF32, context.shape(0)}};
}

const AttributeDef kAxis = attr::integer("axis", 0, "that which scales and zeros belong to, if they are vectors");

const RegisterOp kQuantize(op::kQuantize, {2, 3}, "round(x / scale) + zero, cut to the range of an integer type.",
                           infer_quantize, nullptr,
                           {attr::dtype("dtype", "", "of the result: u8, i8, u16 or i16").needed(), kAxis});
const RegisterOp kDequantize(op::kDequantize, {2, 3}, "(x - zero) * scale.", infer_dequantize, nullptr, {kAxis});

std::vector<Value*> operands(Value* x, Value* scale, Value* zero) {
  return zero != nullptr ? std::vector<Value*>{x, scale, zero} : std::vector<Value*>{x, scale};
}

}  // namespace

namespace ops {

Value* quantize(Value* x, Value* scale, Value* zero, DType dtype, int64_t axis, const std::string& name) {
  const Attributes attrs{{"dtype", std::string(name_of(dtype))}, {"axis", axis}};
  return x->graph().add(op::kQuantize, operands(x, scale, zero), attrs, name)->output();
}

Value* dequantize(Value* x, Value* scale, Value* zero, int64_t axis, const std::string& name) {
  return x->graph().add(op::kDequantize, operands(x, scale, zero), {{"axis", axis}}, name)->output();
}

}  // namespace ops
}  // namespace thalweg
