// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Quantisation by the range that the data has in each run.
//   dynamic_quantize(x) -> q, scale, zero      q u8 of the shape of x; scale f32 and zero u8 single numbers: the
//                                              range of x, widened to hold 0, in 255 steps
//   matmul_integer(a, b[, a_zero]) -> y        a u8 [..., I] by b i8 [I, O], a_zero u8: exact sums in i32
//   dynamic_linear(x, w, scales[, bias]) -> y  x f32 [..., I] is quantised as above and multiplied by w i8 [I, O];
//                                              y f32 is sum * scale of x * scales[o] + bias[o]
#include "graph/op_registry.h"
#include "ops/ids.h"
#include "thalweg/ops/quantize.h"

namespace thalweg {
namespace {

std::vector<TensorType> infer_quantize(const InferContext& context) {
  context.require(context.dtype(0) == DType::kF32, "the input must be f32");
  return {{DType::kU8, context.shape(0)}, {DType::kF32, Shape{}}, {DType::kU8, Shape{}}};
}

Shape product_shape(const InferContext& context) {
  context.require_rank(1, 2);
  const Shape& a = context.shape(0);
  const Shape& b = context.shape(1);
  context.require(context.dtype(1) == DType::kI8, "the matrix must be i8");
  context.require(a.rank() >= 2 && (a[-1] == b[0] || a[-1] == kFree), "the matrix is for ", b[0], " inputs");
  std::vector<int64_t> dims = a.dims();
  dims.back() = b[1];
  return Shape(std::move(dims));
}

std::vector<TensorType> infer_matmul_integer(const InferContext& context) {
  context.require(context.dtype(0) == DType::kU8, "the left side must be u8");
  context.require(!context.has(2) || context.type(2) == TensorType{DType::kU8, Shape{}}, "its zero must be one u8");
  return {{DType::kI32, product_shape(context)}};
}

std::vector<TensorType> infer_dynamic_linear(const InferContext& context) {
  context.require(context.dtype(0) == DType::kF32, "the input must be f32");
  const Shape y = product_shape(context);
  for (size_t i = 2; i < 4; ++i) {
    if (!context.has(i)) continue;
    context.require(context.type(i) == TensorType{DType::kF32, {y[-1]}}, i == 2 ? "the scales" : "the bias",
                    " must be one f32 for each of ", y[-1], " outputs");
  }
  return {{DType::kF32, y}};
}

const RegisterOp kQuantize(op::kDynamicQuantize, 1,
                           "x as u8 by the range it has in this run, with its scale and its zero.", infer_quantize,
                           nullptr);
const RegisterOp kMatmul(op::kMatmulInteger, {2, 3}, "Exact sums in i32 of a (u8) less its zero by b (i8).",
                         infer_matmul_integer, nullptr);
const RegisterOp kLinear(op::kDynamicLinear, {3, 4},
                         "x, quantised as dynamic_quantize does, by i8 weights with scales.", infer_dynamic_linear,
                         nullptr);

}  // namespace

namespace ops {

std::vector<Value*> dynamic_quantize(Value* x, const std::string& name) {
  return x->graph().add(op::kDynamicQuantize, {x}, {}, name)->outputs();
}

Value* matmul_integer(Value* a, Value* b, Value* a_zero, const std::string& name) {
  std::vector<Value*> inputs{a, b};
  if (a_zero != nullptr) inputs.push_back(a_zero);
  return a->graph().add(op::kMatmulInteger, inputs, {}, name)->output();
}

Value* dynamic_linear(Value* x, Value* weight, Value* scales, Value* bias, const std::string& name) {
  std::vector<Value*> inputs{x, weight, scales};
  if (bias != nullptr) inputs.push_back(bias);
  return x->graph().add(op::kDynamicLinear, inputs, {}, name)->output();
}

}  // namespace ops
}  // namespace thalweg
