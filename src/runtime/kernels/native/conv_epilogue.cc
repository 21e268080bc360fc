// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/native/conv_epilogue.h"

#include <algorithm>
#include <cstring>

namespace thalweg {
namespace {

/// Outputs of this size are written past the caches (a store that has to read the line first moves twice the bytes).
constexpr size_t kStreamedBytes = size_t{16} << 20;

}  // namespace

ConvEpilogue::ConvEpilogue(const Node& node, int64_t padded_channels)
    : bounds_(conv_bounds(node.attrs())),
      channels_(node.output()->shape()[1]),
      padded_channels_(padded_channels),
      has_bias_(node.input(2) != nullptr),
      has_residual_(node.input(3) != nullptr) {}

simd::ConvAfter ConvEpilogue::prepare(const KernelArguments& arguments, size_t output_bytes, float* scratch) const {
  simd::ConvAfter after{};
  after.bounded = bounds_.present;
  after.low = bounds_.low;
  after.high = bounds_.high;
  after.stream = output_bytes >= kStreamedBytes;
  if (has_residual_) after.residual = static_cast<const float*>(arguments.inputs[3]);
  if (has_bias_) {
    // The loops read whole vectors.
    std::memcpy(scratch, arguments.inputs[2], static_cast<size_t>(channels_) * sizeof(float));
    std::fill(scratch + channels_, scratch + padded_channels_, 0.0F);
    after.bias = scratch;
  }
  return after;
}

}  // namespace thalweg
