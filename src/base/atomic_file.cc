// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <vector>

#include "thalweg/error.h"

namespace thalweg {
namespace {

constexpr const char* kTemporary = ".tmp-";

std::string resolved(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) return path;
  const std::filesystem::path target = std::filesystem::weakly_canonical(path, error);
  return error ? path : target.string();
}

/// A rename would put a file in the place of a device, such as /dev/null.
void require_ordinary(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  TW_REQUIRE(!std::filesystem::is_other(status), "cannot write ", path, ": it is a device, a pipe or a socket");
}

/// Makes the rename durable. File systems that cannot sync a directory say EINVAL, and have nothing to sync.
int sync_directory_of(const std::string& path) {
  std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (parent.empty()) parent = ".";
  const int directory = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return errno;
  const int result = ::fsync(directory) == 0 || errno == EINVAL ? 0 : errno;
  ::close(directory);
  return result;
}

/// Best effort: the file that was written is not worth less because an old one could not be removed.
void remove_leftovers(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr auto kAbandoned = std::chrono::hours(1);
  const fs::path parent = fs::path(path).parent_path();
  const std::string prefix = fs::path(path).filename().string() + kTemporary;
  std::error_code error;
  std::vector<fs::path> leftovers;
  for (fs::directory_iterator it(parent.empty() ? fs::path(".") : parent, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code unknown;
    if (!it->path().filename().string().starts_with(prefix)) continue;
    const auto age = fs::file_time_type::clock::now() - fs::last_write_time(it->path(), unknown);
    if (!unknown && age > kAbandoned) leftovers.push_back(it->path());
  }
  for (const fs::path& leftover : leftovers) fs::remove(leftover, error);
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : path_(resolved(path)) {
  require_ordinary(path_);
  static std::atomic<unsigned> counter{0};
  temporary_ = path_ + kTemporary + std::to_string(::getpid()) + "-" + std::to_string(++counter);
  constexpr int kMode = 0666;  // the process's mask takes away what it must
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode);
  if (descriptor_ < 0) fail("create", errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, size_t bytes) {
  constexpr size_t kMost = size_t{1} << 30;  // Linux writes no more than 2 GiB at once
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t count = ::write(descriptor_, from, std::min(bytes, kMost));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("write", errno);
    from += count;
    bytes -= static_cast<size_t>(count);
    written_ += static_cast<size_t>(count);
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) fail("sync", errno);
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0) {
    const int error = errno;
    ::unlink(temporary_.c_str());
    fail("close", error);
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary_.c_str());
    fail("replace", error);
  }
  if (const int error = sync_directory_of(path_); error != 0) fail("sync the directory of", error);
  remove_leftovers(path_);
}

void AtomicFile::fail(const char* action, int error_number) {
  raise("cannot ", action, " ", path_, ": ", std::generic_category().message(error_number), " (after ", written_,
        " bytes)");
}

}  // namespace thalweg
