// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/native/strided_copy.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace thalweg {
namespace {

/// Bytes below which a second thread costs more than it brings.
constexpr int64_t kWorthwhile = 65536;

/// What lies side by side in a block of channels.
template <size_t bytes>
struct Chunk {
  char content[bytes];
};

template <typename T>
void copy_line(const char* source, int64_t source_stride, char* target, int64_t target_stride, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, source + i * source_stride, sizeof value);
    std::memcpy(target + i * target_stride, &value, sizeof value);
  }
}

}  // namespace

StridedCopy::StridedCopy(std::vector<int64_t> dims, std::vector<int64_t> source_strides,
                         std::vector<int64_t> target_strides, int64_t element_bytes)
    : chunk_(element_bytes), rows_(1) {
  for (size_t d = dims.size(); d-- > 0;) {
    if (dims[d] == 1) continue;
    const bool extends_chunk = dims_.empty() && source_strides[d] == chunk_ && target_strides[d] == chunk_;
    if (extends_chunk) {
      chunk_ *= dims[d];
    } else if (!dims_.empty() && source_strides[d] == source_strides_.front() * dims_.front() &&
               target_strides[d] == target_strides_.front() * dims_.front()) {
      dims_.front() *= dims[d];
    } else {
      dims_.insert(dims_.begin(), dims[d]);
      source_strides_.insert(source_strides_.begin(), source_strides[d]);
      target_strides_.insert(target_strides_.begin(), target_strides[d]);
    }
  }
  for (int64_t dim : dims_) rows_ *= dim;
  if (chunk_ == 0) rows_ = 0;
}

void StridedCopy::copy_rows(const char* source, char* target, int64_t begin, int64_t end) const {
  if (dims_.empty()) {
    std::memcpy(target, source, static_cast<size_t>(chunk_));
    return;
  }
  const int64_t line = dims_.back();
  const int64_t source_stride = source_strides_.back(), target_stride = target_strides_.back();
  for (int64_t row = begin; row < end;) {
    const int64_t first = row % line;
    const int64_t count = std::min(line - first, end - row);
    int64_t rest = row / line;
    const char* from = source + first * source_stride;
    char* to = target + first * target_stride;
    for (size_t d = dims_.size() - 1; d-- > 0;) {
      from += rest % dims_[d] * source_strides_[d];
      to += rest % dims_[d] * target_strides_[d];
      rest /= dims_[d];
    }
    if (chunk_ == 4) {
      copy_line<uint32_t>(from, source_stride, to, target_stride, count);
    } else if (chunk_ == 8) {
      copy_line<uint64_t>(from, source_stride, to, target_stride, count);
    } else if (chunk_ == 32) {
      copy_line<Chunk<32>>(from, source_stride, to, target_stride, count);
    } else if (chunk_ == 64) {
      copy_line<Chunk<64>>(from, source_stride, to, target_stride, count);
    } else {
      for (int64_t i = 0; i < count; ++i) {
        std::memcpy(to + i * target_stride, from + i * source_stride, static_cast<size_t>(chunk_));
      }
    }
    row += count;
  }
}

void StridedCopy::run(const char* source, char* target, int threads) const {
  if (rows_ == 0) return;
  if (rows_ == 1 || threads == 1 || rows_ * chunk_ < kWorthwhile) {
    copy_rows(source, target, 0, rows_);
    return;
  }
  const int64_t parts = std::min<int64_t>(threads, rows_);
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int64_t part = 0; part < parts; ++part) {
    copy_rows(source, target, rows_ * part / parts, rows_ * (part + 1) / parts);
  }
}

void parallel_zero(void* memory, size_t bytes, int threads) {
  const auto total = static_cast<int64_t>(bytes);
  const int64_t parts = total < kWorthwhile ? 1 : threads;
#pragma omp parallel for schedule(static, 1) num_threads(threads) if (parts > 1)
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t begin = total * part / parts, end = total * (part + 1) / parts;
    std::memset(static_cast<char*>(memory) + begin, 0, static_cast<size_t>(end - begin));
  }
}

}  // namespace thalweg
