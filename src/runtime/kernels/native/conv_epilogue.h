// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/conv_geometry.h"
#include "runtime/kernel.h"
#include "runtime/kernels/simd/conv_after.h"

namespace thalweg {

/// What a conv node does with its sums: bias (input 2), residual (input 3), and slopes (input 4) or an activation, for
/// kernels whose outputs lie in channel blocks.
class ConvEpilogue {
 public:
  /// Does nothing: for gradients.
  ConvEpilogue() = default;
  /// `padded_channels`: whole blocks.
  ConvEpilogue(const Node& node, int64_t padded_channels);

  /// Why no such kernel can do it; empty if it can. Padding of the outputs must stay zero.
  static std::string obstacle(const Node& node);

  bool has_residual() const { return has_residual_; }
  /// Scratch that `prepare` wants.
  int64_t scratch_floats() const { return (has_bias_ ? padded_channels_ : 0) + (has_slope_ ? padded_channels_ : 0); }
  /// To be called by one thread, before the outputs are computed. The result is valid as long as arguments and scratch.
  simd::ConvAfter prepare(const KernelArguments& arguments, size_t output_bytes, float* scratch) const;

 private:
  /// An input with one number for each channel as whole blocks at `to`: the loops read whole vectors.
  const float* padded(const void* input, float* to) const;

  simd::ConvAfter after_{};
  int64_t channels_ = 0, padded_channels_ = 0;
  bool has_bias_ = false, has_residual_ = false, has_slope_ = false;
};

}  // namespace thalweg
