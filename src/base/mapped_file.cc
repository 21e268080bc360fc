// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "thalweg/error.h"

namespace thalweg {
namespace {

std::string reason(int error_number) { return std::generic_category().message(error_number); }

}  // namespace

MappedFile::MappedFile(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  TW_REQUIRE(descriptor_ >= 0, "cannot open ", path, ": ", reason(errno));
  try {
    map(path);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
  ::close(descriptor_);
}

void MappedFile::release(std::string_view part) const {
  static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  // Pages that hold only a part of it belong to others as well.
  const auto first = static_cast<size_t>(part.data() - static_cast<const char*>(data_));
  const size_t begin = (first + page - 1) / page * page;
  const size_t end = (first + part.size()) / page * page;
  if (begin < end) ::madvise(static_cast<char*>(data_) + begin, end - begin, MADV_DONTNEED);
}

void MappedFile::map(const std::string& path) {
  struct stat status {};
  TW_REQUIRE(::fstat(descriptor_, &status) == 0, "cannot examine ", path, ": ", reason(errno));
  TW_REQUIRE(S_ISREG(status.st_mode), path, " is not a file");
  size_ = static_cast<size_t>(status.st_size);
  if (size_ == 0) return;
  void* memory = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, descriptor_, 0);
  TW_REQUIRE(memory != MAP_FAILED, "cannot map ", path, ": ", reason(errno));
  data_ = memory;
}

}  // namespace thalweg
