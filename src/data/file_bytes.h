// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace thalweg::data {

/// What a file that is one sample may hold.
inline constexpr int64_t kMostFileBytes = int64_t{1} << 30;

/// A file of this machine that is open for reading. What is opened by mistake, a directory or a pipe that nobody writes
/// to, is an Error that names the path, and nothing is waited for.
class RegularFile {
 public:
  explicit RegularFile(const std::string& path);
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;
  ~RegularFile();

  const std::string& path() const { return path_; }
  /// When it was opened.
  int64_t size() const { return size_; }
  /// From where the last call ended; less than `most` bytes only at the end.
  size_t read(void* to, size_t most) const;
  /// False if there are fewer bytes at that place.
  bool read_at(int64_t offset, void* to, size_t count) const;

 private:
  const std::string path_;
  int descriptor_ = -1;
  int64_t size_ = 0;
};

/// Replaces `bytes` by the whole of a file; throws Error that names the path and the system's reason, also for a
/// directory and for a file of more than `max_bytes`.
void read_file(const std::string& path, std::vector<uint8_t>& bytes, int64_t max_bytes = kMostFileBytes);

}  // namespace thalweg::data
