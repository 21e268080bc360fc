// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/file_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "thalweg/error.h"

namespace thalweg::data {

RegularFile::RegularFile(const std::string& path)
    // O_NONBLOCK: to open a pipe would wait for a writer.
    : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  TW_REQUIRE(descriptor_ >= 0, path, ": cannot read: ", std::strerror(errno));
  struct stat status {};
  const int failure = ::fstat(descriptor_, &status) == 0 ? 0 : errno;
  if (failure == 0 && S_ISREG(status.st_mode)) {
    size_ = status.st_size;
    return;
  }
  ::close(descriptor_);
  TW_REQUIRE(failure == 0, path, ": cannot read: ", std::strerror(failure));
  raise(path, ": is not a file");
}

RegularFile::~RegularFile() { ::close(descriptor_); }

size_t RegularFile::read(void* to, size_t most) const {
  size_t filled = 0;
  while (filled < most) {
    const ssize_t count = ::read(descriptor_, static_cast<char*>(to) + filled, most - filled);
    if (count < 0 && errno == EINTR) continue;
    TW_REQUIRE(count >= 0, path_, ": cannot read: ", std::strerror(errno));
    if (count == 0) break;
    filled += static_cast<size_t>(count);
  }
  return filled;
}

bool RegularFile::read_at(int64_t offset, void* to, size_t count) const {
  size_t filled = 0;
  while (filled < count) {
    const ssize_t got =
        ::pread(descriptor_, static_cast<char*>(to) + filled, count - filled, offset + static_cast<int64_t>(filled));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    filled += static_cast<size_t>(got);
  }
  return true;
}

void read_file(const std::string& path, std::vector<uint8_t>& bytes, int64_t max_bytes) {
  const RegularFile file(path);
  TW_REQUIRE(file.size() <= max_bytes, path, ": holds ", file.size(), " bytes; at most ", max_bytes, " are allowed");
  bytes.resize(static_cast<size_t>(file.size()));
  bytes.resize(file.read(bytes.data(), bytes.size()));  // somebody may have made it shorter meanwhile
}

}  // namespace thalweg::data
