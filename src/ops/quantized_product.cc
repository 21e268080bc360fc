// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Products of integers with all that follows them; ops::QuantizedResult has the arithmetic.
//   quantized_conv(x, w, scales[, bias[, residual]]) -> y    attributes of conv, and those of the result
//   quantized_linear(x, w, scales[, bias]) -> y
//   quantized_add(a, b) -> y                                 attributes a_factor, b_factor, offset, low, high, dtype
#include <limits>

#include "ops/conv_geometry.h"
#include "ops/ids.h"
#include "ops/quantized_result.h"
#include "thalweg/ops/conv.h"

namespace thalweg {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Scales and bias are vectors of one f32 for each output channel.
void check_channels(const InferContext& context, int64_t channels) {
  context.require(is_byte(context.dtype(0)), "the input must be u8 or i8");
  context.require(context.dtype(1) == DType::kI8, "the weight must be i8");
  for (size_t i = 2; i < 4; ++i) {
    if (!context.has(i)) continue;
    context.require(context.type(i) == TensorType{DType::kF32, {channels}}, i == 2 ? "the scales" : "the bias",
                    " must be one f32 for each of ", channels, " output channels");
  }
}

DType check_result(const InferContext& context) {
  const DType dtype = read_result(context.attrs()).dtype;
  context.require(dtype == DType::kF32 || is_byte(dtype), "the result must be f32, u8 or i8");
  return dtype;
}

std::vector<TensorType> infer_conv(const InferContext& context) {
  const Shape& w = context.shape(1);
  check_channels(context, w[0]);
  const TensorType y{check_result(context), conv_output(context, context.shape(0), w)};
  if (context.has(4)) {
    const bool known = is_byte(context.dtype(4)) || context.dtype(4) == DType::kF32;
    context.require(known && context.shape(4) == y.shape, "the residual must be u8, i8 or f32 of shape ", y.shape);
  }
  return {y};
}

std::vector<TensorType> infer_linear(const InferContext& context) {
  context.require_rank(1, 2);
  const Shape& w = context.shape(1);
  const Shape& x = context.shape(0);
  context.require(x.rank() >= 1 && (x[-1] == w[0] || x[-1] == kFree), "the weight is for ", w[0], " inputs");
  check_channels(context, w[1]);
  std::vector<int64_t> dims = x.dims();
  dims.back() = w[1];
  return {{check_result(context), Shape(std::move(dims))}};
}

std::vector<TensorType> infer_add(const InferContext& context) {
  const DType dtype = dtype_from_name(context.attrs().text("dtype"));
  context.require(is_byte(context.dtype(0)) && is_byte(context.dtype(1)), "the inputs must be u8 or i8");
  context.require(context.shape(0) == context.shape(1), "the inputs differ in shape");
  context.require(is_byte(dtype), "the result must be u8 or i8");
  return {{dtype, context.shape(0)}};
}

const AttributeDef kLow = attr::real("low", -kInfinity, "the lower bound before factor and zero");
const AttributeDef kHigh = attr::real("high", kInfinity, "the upper bound before factor and zero");
const std::vector<AttributeDef> kResult{attr::integer("x_zero", 0, "the integer that stands for 0 in x"),
                                        kLow,
                                        kHigh,
                                        attr::real("factor", 1.0, "that the bounded sum is multiplied by"),
                                        attr::integer("zero", 0, "added before rounding"),
                                        attr::dtype("dtype", "f32", "of the result: f32, u8 or i8")};
const std::vector<AttributeDef> kSum{attr::real("a_factor", 1.0, "that a is multiplied by"),
                                     attr::real("b_factor", 1.0, "that b is multiplied by"),
                                     attr::real("offset", 0.0, "added to the sum"),
                                     kLow,
                                     kHigh,
                                     attr::dtype("dtype", "u8", "of the result: u8 or i8")};

const RegisterOp kConv(op::kQuantizedConv, {3, 5}, "conv of integers, scaled, shifted, bounded and quantised again.",
                       infer_conv, nullptr, with_window(kResult));
const RegisterOp kLinear(op::kQuantizedLinear, {3, 4},
                         "A product of integers, scaled, shifted, bounded and quantised again.", infer_linear, nullptr,
                         kResult);
const RegisterOp kAdd(op::kQuantizedAdd, 2, "A weighted sum of integers, bounded and rounded.", infer_add, nullptr,
                      kSum);

}  // namespace

void write_result(const ops::QuantizedResult& result, Attributes& attrs) {
  attrs.set("x_zero", result.x_zero);
  attrs.set("low", result.low);
  attrs.set("high", result.high);
  attrs.set("factor", result.factor);
  attrs.set("zero", result.zero);
  attrs.set("dtype", std::string(name_of(result.dtype)));
}

ops::QuantizedResult read_result(const Attributes& attrs) {
  ops::QuantizedResult result;
  result.x_zero = attrs.integer("x_zero");
  result.low = attrs.real("low");
  result.high = attrs.real("high");
  result.factor = attrs.real("factor");
  result.zero = attrs.integer("zero");
  result.dtype = dtype_from_name(attrs.text("dtype"));
  return result;
}

namespace ops {

QuantizedResult::QuantizedResult() : low(-kInfinity), high(kInfinity) {}
QuantizedSum::QuantizedSum() : low(-kInfinity), high(kInfinity) {}

Value* quantized_conv(Value* x, Value* weight, Value* scales, Value* bias, Value* residual, const ConvOptions& options,
                      const QuantizedResult& result, const std::string& name) {
  TW_REQUIRE(options.activation.empty(), "quantized_conv '", name, "': bounds of the result are its activation");
  Attributes attrs = conv_attributes(options);
  write_result(result, attrs);
  std::vector<Value*> inputs{x, weight, scales, bias, residual};
  while (inputs.back() == nullptr) inputs.pop_back();
  return x->graph().add(op::kQuantizedConv, inputs, attrs, name)->output();
}

Value* quantized_linear(Value* x, Value* weight, Value* scales, Value* bias, const QuantizedResult& result,
                        const std::string& name) {
  Attributes attrs;
  write_result(result, attrs);
  std::vector<Value*> inputs{x, weight, scales};
  if (bias != nullptr) inputs.push_back(bias);
  return x->graph().add(op::kQuantizedLinear, inputs, attrs, name)->output();
}

Value* quantized_add(Value* a, Value* b, const QuantizedSum& sum, const std::string& name) {
  const Attributes attrs{{"a_factor", sum.a_factor}, {"b_factor", sum.b_factor},
                         {"offset", sum.offset},     {"low", sum.low},
                         {"high", sum.high},         {"dtype", std::string(name_of(sum.dtype))}};
  return a->graph().add(op::kQuantizedAdd, {a, b}, attrs, name)->output();
}

}  // namespace ops
}  // namespace thalweg
