// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/kernels/simd/dispatch.h"

namespace thalweg::simd {

/// Named as the ops are.
#define TW_SIMD_UNARY_FUNCTIONS(each)                                                                                  \
  each(Relu) each(LeakyRelu) each(Elu) each(Selu) each(Celu) each(Gelu) each(GeluTanh) each(Silu) each(Mish)           \
      each(Sigmoid) each(LogSigmoid) each(HardSigmoid) each(HardSwish) each(Tanh) each(Softplus) each(Softsign)        \
          each(HardShrink) each(SoftShrink) each(TanhShrink) each(Threshold) each(Clip) each(Exp) each(Log) each(Sqrt) \
              each(Rsqrt) each(Square) each(Reciprocal) each(Abs) each(Erf) each(Sin) each(Cos) each(Tan) each(Asin)   \
                  each(Acos) each(Atan) each(Sinh) each(Cosh) each(Asinh) each(Acosh) each(Atanh) each(Neg) each(Sign) \
                      each(Floor) each(Ceil) each(Round)

enum class Function {
#define TW_NAME(name) k##name,
  TW_SIMD_UNARY_FUNCTIONS(TW_NAME)
#undef TW_NAME
};

/// Elements are f32 or bf16; the result may be written over an operand.
struct UnaryCall {
  Function function = Function::kRelu;
  float alpha = 0.0f, beta = 0.0f;  ///< the attributes of the op in order
  bool bf16 = false;
  const void* dy = nullptr;  ///< for the gradient only
  const void* x = nullptr;   ///< for the gradient: what was saved, the function's input or output
  void* y = nullptr;
  int64_t count = 0;
};
TW_SIMD_FUNCTION(unary, (const UnaryCall& call), (call));
TW_SIMD_FUNCTION(unary_gradient, (const UnaryCall& call), (call));

enum class BinaryFunction { kAdd, kSub, kMul, kDiv, kMinimum, kMaximum, kPow, kPrelu, kModulo, kModuloTruncated };

struct BinaryCall {
  BinaryFunction function = BinaryFunction::kAdd;
  bool bf16 = false;
  const void* a = nullptr;
  const void* b = nullptr;
  void* y = nullptr;
  int64_t count = 0;
  bool a_is_one = false;  ///< the same element for all
  bool b_is_one = false;
};
TW_SIMD_FUNCTION(binary, (const BinaryCall& call), (call));

}  // namespace thalweg::simd
