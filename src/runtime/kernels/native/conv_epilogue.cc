// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/native/conv_epilogue.h"

#include <algorithm>
#include <cstring>

#include "ops/fused_activation.h"
#include "runtime/kernels/native/function_loops.h"
#include "runtime/kernels/simd/channel_blocks.h"

namespace thalweg {
namespace {

/// Outputs of this size are written past the caches (a store that has to read the line first moves twice the bytes).
constexpr size_t kStreamedBytes = size_t{16} << 20;

}  // namespace

ConvEpilogue::ConvEpilogue(const Node& node, int64_t padded_channels)
    : channels_(node.output()->shape()[1]),
      padded_channels_(padded_channels),
      has_bias_(node.input(2) != nullptr),
      has_residual_(node.input(3) != nullptr),
      has_slope_(node.input(4) != nullptr) {
  const ConvBounds bounds = conv_bounds(node.attrs());
  after_.bounded = bounds.present;
  after_.low = bounds.low;
  after_.high = bounds.high;
  const FusedAffine affine = fused_affine(node.attrs());
  after_.scaled = affine.present();
  after_.scale = static_cast<float>(affine.scale);
  after_.shift = static_cast<float>(affine.shift);
  const UnaryCallee callee = fused_activation(node.attrs());
  if (bounds.present || callee.function == nullptr) return;
  after_.activated = true;
  after_.function = *unary_loop(callee.function->name);
  after_.alpha = static_cast<float>(callee.a);
  after_.beta = static_cast<float>(callee.b);
}

std::string ConvEpilogue::obstacle(const Node& node) {
  const UnaryCallee callee = fused_activation(node.attrs());
  const bool padded = node.output()->shape()[1] % simd::block_lanes(simd::best_isa()) != 0;
  if (padded && finished(callee, fused_affine(node.attrs()), 0.0) != 0.0) return "padding would not stay zero";
  const bool loop = callee.function == nullptr || unary_loop(callee.function->name) != nullptr;
  return loop ? "" : "the activation has no loop";
}

const float* ConvEpilogue::padded(const void* input, float* to) const {
  std::memcpy(to, input, static_cast<size_t>(channels_) * sizeof(float));
  std::fill(to + channels_, to + padded_channels_, 0.0F);
  return to;
}

simd::ConvAfter ConvEpilogue::prepare(const KernelArguments& arguments, size_t output_bytes, float* scratch) const {
  simd::ConvAfter after = after_;
  if (has_residual_) after.residual = static_cast<const float*>(arguments.inputs[3]);
  if (has_slope_) after.slope = padded(arguments.inputs[4], scratch + (has_bias_ ? padded_channels_ : 0));
  if (has_bias_) after.bias = padded(arguments.inputs[2], scratch);
  after.stream = output_bytes >= kStreamedBytes && !after.goes_over_stored();
  return after;
}

}  // namespace thalweg
