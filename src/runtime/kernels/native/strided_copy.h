// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace thalweg {

/// A box of elements to be copied between two places with different strides, reduced to as few dimensions as possible.
/// Strides and offsets are in bytes; source strides may be negative or zero.
class StridedCopy {
 public:
  StridedCopy() = default;
  StridedCopy(std::vector<int64_t> dims, std::vector<int64_t> source_strides, std::vector<int64_t> target_strides,
              int64_t element_bytes);
  void run(const char* source, char* target, int threads) const;

 private:
  void copy_rows(const char* source, char* target, int64_t begin, int64_t end) const;
  std::vector<int64_t> dims_, source_strides_, target_strides_;
  int64_t chunk_ = 0;  ///< contiguous bytes on both sides
  int64_t rows_ = 0;   ///< chunks in all
};

/// Zeroes memory with all threads.
void parallel_zero(void* memory, size_t bytes, int threads);

}  // namespace thalweg
