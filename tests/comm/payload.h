// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "thalweg/comm.h"

namespace thalweg::testing {

/// Bytes that tell who has sent which message: `seed` follows from both.
inline std::vector<std::byte> payload(size_t bytes, uint64_t seed) {
  std::vector<std::byte> result(bytes);
  uint64_t state = seed * 0x9E3779B97F4A7C15U + 1;
  for (size_t i = 0; i < bytes; i += sizeof state) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    std::memcpy(result.data() + i, &state, std::min(sizeof state, bytes - i));
  }
  return result;
}

inline std::vector<std::byte> bytes_of(uint64_t number) {
  std::vector<std::byte> result(sizeof number);
  std::memcpy(result.data(), &number, sizeof number);
  return result;
}

inline uint64_t number_of(const std::vector<std::byte>& bytes) {
  uint64_t number = 0;
  std::memcpy(&number, bytes.data(), std::min(bytes.size(), sizeof number));
  return number;
}

inline std::string text_of(const comm::Status& status) { return status.ok() ? "ok" : status.failure().text(); }

}  // namespace thalweg::testing
