// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

/// Random numbers that are a function of a key and an index (splitmix64), so that threads may draw in any order.
namespace thalweg::nn {

inline uint64_t fnv1a64(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

inline uint64_t counter_random(uint64_t key, uint64_t index) {
  uint64_t s = key + (index + 1) * 0x9E3779B97F4A7C15U;
  s = (s ^ (s >> 30)) * 0xBF58476D1CE4E5B9U;
  s = (s ^ (s >> 27)) * 0x94D049BB133111EBU;
  return s ^ (s >> 31);
}

/// In [0, 1), with 53 random bits.
inline double counter_uniform(uint64_t key, uint64_t index) {
  return static_cast<double>(counter_random(key, index) >> 11) * 0x1p-53;
}

}  // namespace thalweg::nn
