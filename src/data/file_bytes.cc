// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/file_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "thalweg/error.h"

namespace thalweg::data {
namespace {

class Descriptor {
 public:
  explicit Descriptor(const std::string& path) : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    TW_REQUIRE(number_ >= 0, path, ": cannot read: ", std::strerror(errno));
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { ::close(number_); }
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

void read_file(const std::string& path, std::vector<uint8_t>& bytes, int64_t max_bytes) {
  const Descriptor file(path);  // O_NONBLOCK above: opening a pipe by mistake must not wait for a writer
  struct stat status {};
  TW_REQUIRE(::fstat(file.number(), &status) == 0, path, ": cannot read: ", std::strerror(errno));
  TW_REQUIRE(S_ISREG(status.st_mode), path, ": is not a file");
  TW_REQUIRE(status.st_size <= max_bytes, path, ": holds ", status.st_size, " bytes; at most ", max_bytes,
             " are allowed");
  bytes.resize(static_cast<size_t>(status.st_size));
  size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t count = ::read(file.number(), bytes.data() + filled, bytes.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    TW_REQUIRE(count >= 0, path, ": cannot read: ", std::strerror(errno));
    if (count == 0) break;  // somebody made it shorter meanwhile
    filled += static_cast<size_t>(count);
  }
  bytes.resize(filled);
}

}  // namespace thalweg::data
