// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace thalweg {

/// What decides which elements a dropout keeps: element `i` of the row-major tensor stays if
/// mix(mix(low(i) ^ first) + second + high(i) * odd constant) is at least `threshold`. The same in every layout and for
/// any number of threads.
struct RandomMask {
  uint32_t first = 0;
  uint32_t second = 0;
  uint32_t threshold = 0;
  float scale = 1.0f;

  RandomMask(double probability, int64_t seed, uint64_t step)
      : threshold(static_cast<uint32_t>(probability * 4294967296.0)),
        scale(static_cast<float>(1.0 / (1.0 - probability))) {
    const uint64_t key = scramble(scramble(static_cast<uint64_t>(seed)) + step);
    first = static_cast<uint32_t>(key);
    second = static_cast<uint32_t>(key >> 32);
  }

  bool keeps(uint64_t index) const {
    const uint32_t high = static_cast<uint32_t>(index >> 32) * 0x9e3779b9U;
    return mix(mix(static_cast<uint32_t>(index) ^ first) + second + high) >= threshold;
  }

  /// A permutation of 32 bits in which every input bit moves every output bit about half of the time.
  static inline uint32_t mix(uint32_t x) {
    x ^= x >> 16;
    x *= 0x21f0aaadU;
    x ^= x >> 15;
    x *= 0xd35a2d97U;
    return x ^ (x >> 15);
  }

 private:
  /// The finaliser of splitmix64.
  static uint64_t scramble(uint64_t x) {
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
  }
};

}  // namespace thalweg
