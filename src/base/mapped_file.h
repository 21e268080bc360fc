// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace thalweg {

/// A regular file opened for reading and mapped copy-on-write: writing to the memory does not change the file. Whoever
/// hands out views of it shares its ownership. The file must not be cut short meanwhile, as no program can survive
/// that. Failures throw an Error that names the path and the system's reason.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  int descriptor() const { return descriptor_; }
  std::byte* data() const { return static_cast<std::byte*>(data_); }
  size_t size() const { return size_; }
  std::string_view text() const { return {static_cast<const char*>(data_), size_}; }
  /// Gives the memory of `part`, a piece of text(), back to the system: whoever reads it next has it read again.
  /// Nothing may have been written there, since it would be lost.
  void release(std::string_view part) const;

 private:
  void map(const std::string& path);

  int descriptor_;
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace thalweg
