// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/graph.h"

namespace thalweg::ops {

/// round(x / scale) + zero, cut to the range of `dtype`, an integer type of 8 or 16 bits; halves go to the even
/// neighbour. `scale` (f32) and `zero` (`dtype`; null: 0) are single numbers, or one for each place along `axis`.
Value* quantize(Value* x, Value* scale, Value* zero, DType dtype, int64_t axis = 0, const std::string& name = "");

/// (x - zero) * scale in f32, for x of 8 or 16 bits; scale and zero as above.
Value* dequantize(Value* x, Value* scale, Value* zero = nullptr, int64_t axis = 0, const std::string& name = "");

/// How a product of integers becomes its result:
///   sum    = sum of (x - x_zero) * weight, exact
///   t      = clip(sum * scale + bias + residual, low, high)   one scale and bias for each output channel
///   result = round(t * factor + zero), cut to the range of `dtype`; t * factor if that is f32
struct QuantizedResult {
  int64_t x_zero = 0;
  double low;
  double high;
  double factor = 1.0;
  int64_t zero = 0;
  DType dtype = DType::kF32;
  QuantizedResult();
};

struct ConvOptions;

/// x (u8 or i8) by weight (i8) [O, C/groups, kernel...], with scales [O] and bias [O] (f32, null: 0); the residual, in
/// u8, i8 or f32, has the shape of the result. options.activation must be empty.
Value* quantized_conv(Value* x, Value* weight, Value* scales, Value* bias, Value* residual, const ConvOptions& options,
                      const QuantizedResult& result, const std::string& name = "");

/// x [..., I] (u8 or i8) by weight [I, O] (i8), with scales [O] and bias [O] (f32, null: 0).
Value* quantized_linear(Value* x, Value* weight, Value* scales, Value* bias, const QuantizedResult& result,
                        const std::string& name = "");

/// x as u8, its scale and its zero: the range that x has in this run, widened to hold 0, in 255 steps.
std::vector<Value*> dynamic_quantize(Value* x, const std::string& name = "");
/// Exact sums in i32 of a (u8) [..., I], less a_zero (u8, null: 0), by b (i8) [I, O].
Value* matmul_integer(Value* a, Value* b, Value* a_zero = nullptr, const std::string& name = "");
/// x (f32) [..., I] quantised as dynamic_quantize does, by weight (i8) [I, O] with scales [O], plus bias [O] (null: 0).
Value* dynamic_linear(Value* x, Value* weight, Value* scales, Value* bias = nullptr, const std::string& name = "");

/// round(clip(a * a_factor + b * b_factor + offset, low, high)) cut to the range of `dtype`, for a and b (u8 or i8) of
/// one shape: the sum of two quantised values.
struct QuantizedSum {
  double a_factor = 1.0;
  double b_factor = 1.0;
  double offset = 0.0;
  double low;
  double high;
  DType dtype = DType::kU8;
  QuantizedSum();
};
Value* quantized_add(Value* a, Value* b, const QuantizedSum& sum, const std::string& name = "");

}  // namespace thalweg::ops
