// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/block_filter.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sync/compress/bits.h"

namespace thalweg::sync {

void BlockFilter::append(std::span<const float> weights, Bytes& message) {
  for (size_t begin = 0; begin < weights.size(); begin += kBlock) {
    const std::span<const float> block = weights.subspan(begin, std::min(kBlock, weights.size() - begin));
    float largest = 0, moved = 0;
    bool is_finite = true;
    for (size_t i = 0; i < block.size(); ++i) {
      largest = std::max(largest, std::abs(block[i]));
      moved = std::max(moved, std::abs(block[i] - there_[begin + i]));
      is_finite = is_finite && std::isfinite(block[i]);
    }
    if (is_finite && moved <= share_ * largest) continue;
    put_number(message, static_cast<uint64_t>(begin / kBlock));
    const std::span<const std::byte> raw = std::as_bytes(block);
    message.insert(message.end(), raw.begin(), raw.end());
    std::copy(block.begin(), block.end(), there_.begin() + static_cast<int64_t>(begin));
  }
}

void BlockFilter::apply(std::span<const std::byte> message, std::span<float> weights) {
  while (!message.empty()) {
    const auto number = take_number<uint64_t>(message);
    TW_REQUIRE(number < (weights.size() + kBlock - 1) / kBlock, "there is no block ", number, " of ", weights.size(),
               " weights");
    const size_t begin = static_cast<size_t>(number) * kBlock;
    const std::span<float> block = weights.subspan(begin, std::min(kBlock, weights.size() - begin));
    TW_REQUIRE(message.size() >= block.size_bytes(), "a block of ", block.size(), " weights ends after ",
               message.size(), " bytes");
    std::memcpy(block.data(), message.data(), block.size_bytes());
    message = message.subspan(block.size_bytes());
  }
}

}  // namespace thalweg::sync
