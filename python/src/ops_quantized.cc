// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "ops.h"

namespace thalweg::python {
namespace {

using Integers = std::vector<int64_t>;

void bind_conversions(nb::module_& m) {
  def_op(m, "quantize", ops::quantize, "x"_a, "scale"_a, "zero"_a.none(), "dtype"_a, "axis"_a = 0, "name"_a = "",
         "round(x / scale) + zero, cut to the range of dtype.");
  def_op(m, "dequantize", ops::dequantize, "x"_a, "scale"_a, "zero"_a.none() = nb::none(), "axis"_a = 0, "name"_a = "",
         "(x - zero) * scale.");
  def_op(m, "dynamic_quantize", ops::dynamic_quantize, "x"_a, "name"_a = "",
         "x as uint8 by the range it has in this run, its scale and its zero.");
}

void bind_products(nb::module_& m) {
  const ops::QuantizedResult usual;
  const ops::ConvOptions conv;
  const char* result_doc = "clip(sum * scale + bias, low, high) * factor + zero, rounded unless dtype is float32.";
  def_op(
      m, "quantized_conv",
      [](Value* x, Value* weight, Value* scales, Value* bias, Value* residual, Integers strides, Integers pads,
         Integers dilations, int64_t groups, int64_t x_zero, double low, double high, double factor, int64_t zero,
         DType dtype) {
        ops::QuantizedResult result;
        std::tie(result.x_zero, result.low, result.high) = std::tie(x_zero, low, high);
        std::tie(result.factor, result.zero, result.dtype) = std::tie(factor, zero, dtype);
        return ops::quantized_conv(x, weight, scales, bias, residual,
                                   {std::move(strides), std::move(pads), std::move(dilations), groups, ""}, result);
      },
      "x"_a, "weight"_a, "scales"_a, "bias"_a.none() = nb::none(), "residual"_a.none() = nb::none(), nb::kw_only(),
      "strides"_a = conv.strides, "pads"_a = conv.pads, "dilations"_a = conv.dilations, "groups"_a = conv.groups,
      "x_zero"_a = usual.x_zero, "low"_a = usual.low, "high"_a = usual.high, "factor"_a = usual.factor,
      "zero"_a = usual.zero, "dtype"_a = usual.dtype, result_doc);
  def_op(
      m, "quantized_linear",
      [](Value* x, Value* weight, Value* scales, Value* bias, int64_t x_zero, double low, double high, double factor,
         int64_t zero, DType dtype) {
        ops::QuantizedResult result;
        std::tie(result.x_zero, result.low, result.high) = std::tie(x_zero, low, high);
        std::tie(result.factor, result.zero, result.dtype) = std::tie(factor, zero, dtype);
        return ops::quantized_linear(x, weight, scales, bias, result);
      },
      "x"_a, "weight"_a, "scales"_a, "bias"_a.none() = nb::none(), nb::kw_only(), "x_zero"_a = usual.x_zero,
      "low"_a = usual.low, "high"_a = usual.high, "factor"_a = usual.factor, "zero"_a = usual.zero,
      "dtype"_a = usual.dtype, result_doc);
  def_op(m, "dynamic_linear", ops::dynamic_linear, "x"_a, "weight"_a, "scales"_a, "bias"_a.none() = nb::none(),
         "name"_a = "", "x, quantised as dynamic_quantize does, by int8 weights [I, O] with scales [O].");
  def_op(m, "matmul_integer", ops::matmul_integer, "a"_a, "b"_a, "a_zero"_a.none() = nb::none(), "name"_a = "",
         "Exact sums in int32 of a (uint8) less a_zero by b (int8).");
}

void bind_sum(nb::module_& m) {
  const ops::QuantizedSum usual;
  def_op(
      m, "quantized_add",
      [](Value* a, Value* b, double a_factor, double b_factor, double offset, double low, double high, DType dtype) {
        ops::QuantizedSum sum;
        std::tie(sum.a_factor, sum.b_factor, sum.offset) = std::tie(a_factor, b_factor, offset);
        std::tie(sum.low, sum.high, sum.dtype) = std::tie(low, high, dtype);
        return ops::quantized_add(a, b, sum);
      },
      "a"_a, "b"_a, nb::kw_only(), "a_factor"_a = usual.a_factor, "b_factor"_a = usual.b_factor,
      "offset"_a = usual.offset, "low"_a = usual.low, "high"_a = usual.high, "dtype"_a = usual.dtype,
      "clip(a * a_factor + b * b_factor + offset, low, high), rounded.");
}

}  // namespace

void bind_quantized_ops(nb::module_& ops) {
  bind_conversions(ops);
  bind_products(ops);
  bind_sum(ops);
}

}  // namespace thalweg::python
