// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace thalweg {

/// Writes a file so that its path holds either the old content or all of the new, whatever happens in between: the data
/// goes to a temporary file beside it, which commit() makes durable and renames. Without commit() the temporary file is
/// removed and the old file stays as it was. A symbolic link is followed; what is neither a file nor a folder, such as
/// a device, is refused. Every failure throws an Error that names the path and the system's reason.
///
/// A process that is killed leaves `<path>.tmp-<pid>-<number>` behind, which nobody will read. The next commit() of the
/// same path removes it if it is an hour old: before, it may belong to a process of another machine.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(const void* data, size_t bytes);
  void commit();

 private:
  [[noreturn]] void fail(const char* action, int error_number);

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
  size_t written_ = 0;
};

}  // namespace thalweg
