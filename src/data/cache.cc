// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/cache.h"

#include <fcntl.h>
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
    descriptor_ = ::mkostemp(pattern.data(), O_CLOEXEC);
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
  const SpillFile* file = nullptr;  ///< if not in memory
  int64_t offset = 0;               ///< in the file
  size_t bytes = 0;
  bool present() const { return memory != nullptr || file != nullptr; }
};

}  // namespace

class SampleCache::Impl {
 public:
  Impl(int64_t size, const CacheOptions& options) : options_(options), entries_(static_cast<size_t>(size)) {
    TW_REQUIRE(options.memory_bytes >= 0 && options.disk_bytes >= 0, "a cache of negative size");
    if (options.disk_bytes > 0) files_.push_back(std::make_unique<SpillFile>(options.directory));
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
        found = entry.file->read(bytes.data(), entry.bytes, entry.offset);
      }
    }
    ++(found ? hits_ : misses_);
    return found;
  }

  void put(int64_t number, std::span<const uint8_t> bytes) {
    const auto count = static_cast<int64_t>(bytes.size());
    Entry entry;
    entry.bytes = bytes.size();
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
      if (!own_a_file()) return;
      entry.file = files_.back().get();
      entry.offset = end_of_file_;
      end_of_file_ += count;  // the place is ours; the bytes follow without the lock
      status_.disk_bytes += count;
    }
    const int failure = entry.file->write(bytes.data(), bytes.size(), entry.offset);
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    if (failure != 0) {
      status_.disk_failure = std::strerror(failure);
      return;
    }
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
  /// A process that was forked shares the file it finds with its parent and its siblings, none of which knows where the
  /// others write. It may read what was there before the fork, and writes to a file of its own. False if none can be
  /// had. Under the lock.
  bool own_a_file() {
    if (owner_ == ::getpid()) return true;
    try {
      files_.push_back(std::make_unique<SpillFile>(options_.directory));
    } catch (const Error& error) {
      status_.disk_failure = error.what();
      return false;
    }
    owner_ = ::getpid();
    end_of_file_ = 0;
    return true;
  }

  const CacheOptions options_;
  mutable std::shared_mutex mutex_;
  std::vector<Entry> entries_;
  /// The last one is written to, by the process `owner_` only.
  std::vector<std::unique_ptr<SpillFile>> files_;
  pid_t owner_ = ::getpid();
  int64_t end_of_file_ = 0;
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
  cache_ = std::make_shared<SampleCache>(source_->size(), options);
}

void Cached::read(std::span<const int64_t> indices, const Draw& draw, const Batch& batch, int64_t row) const {
  // A reader that was given up on may come back when this object is gone: from here on it uses what it holds itself.
  const DatasetPtr source = source_;
  const std::shared_ptr<SampleCache> cache = cache_;
  const int64_t samples = size();
  thread_local std::vector<uint8_t> bytes;
  const auto for_each_row = [&](const auto& act) {
    for (const std::vector<Tensor>* tensors : {&batch.inputs, &batch.targets}) {
      for (const Tensor& tensor : *tensors) act(row_of(tensor, row), row_bytes(tensor));
    }
  };
  for (const int64_t index : indices) {
    TW_REQUIRE(index >= 0 && index < samples, "dataset of ", samples, " samples has no sample ", index);
    if (cache->get(index, bytes)) {
      const uint8_t* from = bytes.data();
      for_each_row([&](char* to, size_t count) {
        std::memcpy(to, from, count);
        from += count;
      });
    } else {
      source->read(std::span(&index, 1), draw, batch, row);
      bytes.clear();
      for_each_row([&](const char* from, size_t count) { bytes.insert(bytes.end(), from, from + count); });
      cache->put(index, bytes);
    }
    ++row;
  }
}

}  // namespace thalweg::data
