// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/kernels/simd/dispatch.h"

namespace thalweg::simd {

/// Named as the ops are.
enum class Function {
  kRelu,
  kLeakyRelu,
  kElu,
  kSelu,
  kCelu,
  kGelu,
  kGeluTanh,
  kSilu,
  kMish,
  kSigmoid,
  kLogSigmoid,
  kHardSigmoid,
  kHardSwish,
  kTanh,
  kSoftplus,
  kSoftsign,
  kHardShrink,
  kSoftShrink,
  kTanhShrink,
  kThreshold,
  kClip,
  kExp,
  kLog,
  kSqrt,
  kRsqrt,
  kSquare,
  kReciprocal,
  kAbs,
  kErf,
  kSin,
  kCos,
  kNeg,
  kSign,
  kFloor,
  kCeil,
  kRound
};

/// Elements are f32 or bf16; the result may be written over an operand.
struct UnaryCall {
  Function function = Function::kRelu;
  float alpha = 0.0f, beta = 0.0f;
  bool bf16 = false;
  const void* dy = nullptr;  ///< for the gradient only
  const void* x = nullptr;   ///< for the gradient: what was saved, the function's input or output
  void* y = nullptr;
  int64_t count = 0;
};
TW_SIMD_FUNCTION(unary, (const UnaryCall& call), (call));
TW_SIMD_FUNCTION(unary_gradient, (const UnaryCall& call), (call));

enum class BinaryFunction { kAdd, kSub, kMul, kDiv, kMinimum, kMaximum, kPow };

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
