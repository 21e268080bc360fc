// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace thalweg::data {

/// Memory in large pieces that is never given back before the end: anonymous up to a budget, then parts of a file
/// without a name, which the system writes out when memory is short.
class RowMemory {
 public:
  RowMemory(int64_t memory_bytes, std::string directory);
  ~RowMemory();
  RowMemory(const RowMemory&) = delete;
  RowMemory& operator=(const RowMemory&) = delete;

  /// Throws Error if there is neither memory nor room in the file.
  std::byte* take(size_t bytes);
  int64_t memory_bytes() const { return memory_used_; }
  int64_t disk_bytes() const { return disk_used_; }

 private:
  struct Piece {
    void* begin;
    size_t bytes;
  };
  void* map_memory(size_t bytes);
  void* map_file(size_t bytes);

  int64_t budget_;
  std::string directory_;
  int file_ = -1;
  int64_t memory_used_ = 0;
  int64_t disk_used_ = 0;
  std::vector<Piece> pieces_;
};

}  // namespace thalweg::data
