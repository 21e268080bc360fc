// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace thalweg::data {

/// The files below a directory that is not one of this machine; data/remote_files.h has one for what Arrow opens. All
/// functions are called from several threads at once.
class Files {
 public:
  virtual ~Files() = default;
  /// Of the directory, for messages.
  virtual const std::string& name() const = 0;
  /// All of them, in the order of their paths within the directory; folders are separated by /. What is hidden (has a
  /// leading dot) is left out.
  virtual std::vector<std::string> list() const = 0;
  /// Replaces `bytes` by the whole of a file. Throws Error that begins with its name, also if it has more than
  /// `max_bytes`.
  virtual void read(const std::string& path, std::vector<uint8_t>& bytes, int64_t max_bytes) const = 0;
};

using FilesPtr = std::shared_ptr<const Files>;

}  // namespace thalweg::data
