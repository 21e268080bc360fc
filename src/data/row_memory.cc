// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/row_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "thalweg/error.h"

namespace thalweg::data {
namespace {

/// A file that is gone when it is closed; -1 and errno if there can be none.
int open_nameless(const std::string& directory) {
  const int file = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  // Some file systems (NFS, older overlays) know only files with names.
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return file;
  std::string name = directory + "/rows-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

}  // namespace

RowMemory::RowMemory(int64_t memory_bytes, std::string directory)
    : budget_(memory_bytes), directory_(std::move(directory)) {
  TW_REQUIRE(memory_bytes >= 0, "rows cannot be kept in ", memory_bytes, " bytes of memory");
}

RowMemory::~RowMemory() {
  for (const Piece& piece : pieces_) ::munmap(piece.begin, piece.bytes);
  if (file_ >= 0) ::close(file_);
}

std::byte* RowMemory::take(size_t bytes) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t rounded = (std::max<size_t>(bytes, 1) + page - 1) / page * page;
  const bool fits = memory_used_ + static_cast<int64_t>(rounded) <= budget_;
  void* begin = fits ? map_memory(rounded) : map_file(rounded);
  pieces_.push_back({begin, rounded});
  return static_cast<std::byte*>(begin);
}

void* RowMemory::map_memory(size_t bytes) {
  void* begin = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  TW_REQUIRE(begin != MAP_FAILED, "no memory for ", bytes, " bytes of rows: ", std::strerror(errno));
  memory_used_ += static_cast<int64_t>(bytes);
  return begin;
}

void* RowMemory::map_file(size_t bytes) {
  TW_REQUIRE(!directory_.empty(), "the rows need more than the ", budget_,
             " bytes of memory that they may take; allow more, or name a folder for the rest");
  if (file_ < 0) {
    file_ = open_nameless(directory_);
    TW_REQUIRE(file_ >= 0, directory_, ": no file for rows can be made here: ", std::strerror(errno));
  }
  // Room is asked for now: a full disk under a mapping would end the process.
  const int failure = ::posix_fallocate(file_, disk_used_, static_cast<off_t>(bytes));
  TW_REQUIRE(failure == 0, directory_, ": no room for another ", bytes, " bytes of rows: ", std::strerror(failure));
  void* begin = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, disk_used_);
  TW_REQUIRE(begin != MAP_FAILED, directory_, ": cannot map ", bytes, " bytes: ", std::strerror(errno));
  disk_used_ += static_cast<int64_t>(bytes);
  return begin;
}

}  // namespace thalweg::data
