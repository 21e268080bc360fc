// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/limits.h"
#include "base/text.h"
#include "thalweg/error.h"

namespace thalweg {
namespace {

// Below this a heap block serves better than pages of its own.
constexpr size_t kMapThreshold = 1 << 20;
constexpr size_t kAlignment = 64;

}  // namespace

AlignedBuffer::AlignedBuffer(size_t bytes) : bytes_(bytes) {
  require_memory(bytes);
  if (bytes >= kMapThreshold) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    TW_REQUIRE(memory != MAP_FAILED, "out of memory: cannot get ", human_bytes(static_cast<double>(bytes)));
    madvise(memory, bytes, MADV_HUGEPAGE);
    data_ = memory;
    return;
  }
  const size_t rounded = (bytes + kAlignment) / kAlignment * kAlignment;
  data_ = std::aligned_alloc(kAlignment, rounded);
  TW_REQUIRE(data_ != nullptr, "out of memory: cannot get ", bytes, " bytes");
  std::memset(data_, 0, rounded);
}

AlignedBuffer::~AlignedBuffer() {
  if (data_ == nullptr) return;
  if (bytes_ >= kMapThreshold) {
    munmap(data_, bytes_);
  } else {
    std::free(data_);
  }
}

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace thalweg
