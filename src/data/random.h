// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace thalweg::data {

/// SplitMix64. std::shuffle and the standard distributions differ between libraries; an order that a checkpoint refers
/// to must not.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  /// Streams of their own for numbers below one seed.
  Random(uint64_t seed, uint64_t a) : state_(Random(seed).next() + a * 0xD1B54A32D192ED03ULL) {}
  Random(uint64_t seed, uint64_t a, uint64_t b) : Random(Random(seed, a).next(), b) {}

  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31U);
  }
  /// Below `bound`, without bias.
  uint64_t below(uint64_t bound) {
    const uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
    uint64_t value = next();
    while (value >= limit) value = next();
    return value % bound;
  }
  /// In [low, high).
  double uniform(double low = 0.0, double high = 1.0) {
    return low + (high - low) * static_cast<double>(next() >> 11U) * 0x1.0p-53;
  }
  bool chance(double probability) { return uniform() < probability; }
  /// Mean 0, deviation 1.
  double normal();

 private:
  uint64_t state_;
};

template <typename T>
void shuffle(std::vector<T>& values, Random& random) {
  for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random.below(i)]);
}

}  // namespace thalweg::data
