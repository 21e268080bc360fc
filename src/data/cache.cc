// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/cache.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <shared_mutex>

#include "data/rows.h"

namespace thalweg::data {
namespace {

/// A file that has no name any more: it is gone when the process is, however that ends.
class SpillFile {
 public:
  explicit SpillFile(const std::string& directory) {
    std::string pattern = (std::filesystem::path(directory) / "thalweg-cache-XXXXXX").string();
    descriptor_ = ::mkstemp(pattern.data());
    TW_REQUIRE(descriptor_ >= 0, directory, ": cannot keep a cache here: ", std::strerror(errno));
    ::unlink(pattern.c_str());
  }
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;
  ~SpillFile() { ::close(descriptor_); }

  /// 0, or the system's error number.
  int write(const uint8_t* bytes, size_t count, int64_t offset) const {
    while (count > 0) {
      const ssize_t written = ::pwrite(descriptor_, bytes, count, offset);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return written < 0 ? errno : ENOSPC;
      bytes += written;
      offset += written;
      count -= static_cast<size_t>(written);
    }
    return 0;
  }
  bool read(uint8_t* bytes, size_t count, int64_t offset) const {
    while (count > 0) {
      const ssize_t got = ::pread(descriptor_, bytes, count, offset);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      bytes += got;
      offset += got;
      count -= static_cast<size_t>(got);
    }
    return true;
  }

 private:
  int descriptor_ = -1;
};

struct Entry {
  std::unique_ptr<uint8_t[]> memory;
  int64_t offset = -1;  ///< in the file, if not in memory
  size_t bytes = 0;
  bool present() const { return memory != nullptr || offset >= 0; }
};

}  // namespace

class SampleCache::Impl {
 public:
  Impl(int64_t size, const CacheOptions& options) : options_(options), entries_(static_cast<size_t>(size)) {
    TW_REQUIRE(options.memory_bytes >= 0 && options.disk_bytes >= 0, "a cache of negative size");
    if (options.disk_bytes > 0) file_ = std::make_unique<SpillFile>(options.directory);
  }

  bool get(int64_t number, std::vector<uint8_t>& bytes) const {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    const Entry& entry = entries_[static_cast<size_t>(number)];
    bool found = entry.present();
    if (found) {
      bytes.resize(entry.bytes);
      if (entry.memory != nullptr) {
        std::memcpy(bytes.data(), entry.memory.get(), entry.bytes);
      } else {
        found = file_->read(bytes.data(), entry.bytes, entry.offset);
      }
    }
    ++(found ? hits_ : misses_);
    return found;
  }

  void put(int64_t number, std::span<const uint8_t> bytes) {
    const auto count = static_cast<int64_t>(bytes.size());
    Entry entry;
    entry.bytes = bytes.size();
    int64_t offset = -1;
    {
      const std::unique_lock<std::shared_mutex> lock(mutex_);
      if (entries_[static_cast<size_t>(number)].present()) return;
      if (status_.memory_bytes + count <= options_.memory_bytes) {
        entry.memory = std::make_unique_for_overwrite<uint8_t[]>(bytes.size());
        std::memcpy(entry.memory.get(), bytes.data(), bytes.size());
        status_.memory_bytes += count;
        ++status_.in_memory;
        entries_[static_cast<size_t>(number)] = std::move(entry);
        return;
      }
      if (!status_.disk_failure.empty() || status_.disk_bytes + count > options_.disk_bytes) return;
      offset = status_.disk_bytes;
      status_.disk_bytes += count;  // the place is ours; the bytes follow without the lock
    }
    const int failure = file_->write(bytes.data(), bytes.size(), offset);
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    if (failure != 0) {
      status_.disk_failure = std::strerror(failure);
      return;
    }
    entry.offset = offset;
    ++status_.on_disk;
    entries_[static_cast<size_t>(number)] = std::move(entry);
  }

  CacheStatus status() const {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    CacheStatus result = status_;
    result.hits = hits_;
    result.misses = misses_;
    return result;
  }

 private:
  const CacheOptions options_;
  mutable std::shared_mutex mutex_;
  std::vector<Entry> entries_;
  std::unique_ptr<SpillFile> file_;
  CacheStatus status_;
  mutable std::atomic<int64_t> hits_{0}, misses_{0};
};

SampleCache::SampleCache(int64_t size, const CacheOptions& options) : impl_(std::make_unique<Impl>(size, options)) {}
SampleCache::~SampleCache() = default;
bool SampleCache::get(int64_t number, std::vector<uint8_t>& bytes) const { return impl_->get(number, bytes); }
void SampleCache::put(int64_t number, std::span<const uint8_t> bytes) { impl_->put(number, bytes); }
CacheStatus SampleCache::status() const { return impl_->status(); }

Cached::Cached(DatasetPtr source, const CacheOptions& options) : source_(std::move(source)) {
  TW_REQUIRE(source_ != nullptr, "cache of no dataset");
  cache_ = std::make_unique<SampleCache>(source_->size(), options);
}

void Cached::read(std::span<const int64_t> indices, const Draw& draw, const Batch& batch, int64_t row) const {
  thread_local std::vector<uint8_t> bytes;
  const auto for_each_row = [&](const auto& act) {
    for (const std::vector<Tensor>* tensors : {&batch.inputs, &batch.targets}) {
      for (const Tensor& tensor : *tensors) act(row_of(tensor, row), row_bytes(tensor));
    }
  };
  for (const int64_t index : indices) {
    TW_REQUIRE(index >= 0 && index < size(), "dataset of ", size(), " samples has no sample ", index);
    if (cache_->get(index, bytes)) {
      const uint8_t* from = bytes.data();
      for_each_row([&](char* to, size_t count) {
        std::memcpy(to, from, count);
        from += count;
      });
    } else {
      source_->read(std::span(&index, 1), draw, batch, row);
      bytes.clear();
      for_each_row([&](const char* from, size_t count) { bytes.insert(bytes.end(), from, from + count); });
      cache_->put(index, bytes);
    }
    ++row;
  }
}

}  // namespace thalweg::data
