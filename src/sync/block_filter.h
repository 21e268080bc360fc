// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sync/compress/compressor.h"

namespace thalweg::sync {

/// Leaves out of a row of weights what has changed little since it was last sent to the same worker: blocks in which no
/// element has moved by more than `share` of the block's largest. What is sent is exact, so that the other end is never
/// further off than that.
class BlockFilter {
 public:
  /// The other end has these.
  BlockFilter(double share, std::span<const float> there) : share_(share), there_(there.begin(), there.end()) {}

  /// Appends the blocks that have changed.
  void append(std::span<const float> weights, Bytes& message);
  /// What was appended, at the other end. Throws Error if it is none.
  static void apply(std::span<const std::byte> message, std::span<float> weights);

 private:
  static constexpr size_t kBlock = 128;

  double share_;
  std::vector<float> there_;
};

}  // namespace thalweg::sync
