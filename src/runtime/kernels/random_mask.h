// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

namespace thalweg {

/// Random bits for the elements of a row-major tensor: functions of seed, step and place alone, hence the same in every
/// layout and for any number of threads.
class RandomBits {
 public:
  RandomBits(int64_t seed, uint64_t step) {
    const uint64_t key = scramble(scramble(static_cast<uint64_t>(seed)) + step);
    first_ = static_cast<uint32_t>(key);
    second_ = static_cast<uint32_t>(key >> 32);
  }

  uint32_t first() const { return first_; }
  uint32_t second() const { return second_; }

  /// mix(mix(low(index) ^ first) + second + high(index) * odd constant)
  uint32_t at(uint64_t index) const {
    const uint32_t high = static_cast<uint32_t>(index >> 32) * 0x9e3779b9U;
    return mix(mix(static_cast<uint32_t>(index) ^ first_) + second_ + high);
  }

  /// Standard normal (Box and Muller), from the bits at 2 * index and 2 * index + 1.
  double normal_at(uint64_t index) const {
    const double radius = std::sqrt(-2 * std::log((at(2 * index) + 0.5) * 0x1p-32));
    return radius * std::cos(at(2 * index + 1) * (0x1p-31 * 3.14159265358979323846));
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

  uint32_t first_ = 0;
  uint32_t second_ = 0;
};

/// What decides which elements a dropout keeps: those whose random bits are at least `threshold`.
struct RandomMask {
  RandomBits bits;
  uint32_t threshold;
  float scale;

  RandomMask(double probability, int64_t seed, uint64_t step)
      : bits(seed, step),
        threshold(static_cast<uint32_t>(probability * 4294967296.0)),
        scale(static_cast<float>(1.0 / (1.0 - probability))) {}

  bool keeps(uint64_t index) const { return bits.at(index) >= threshold; }
};

}  // namespace thalweg
