// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/copy.h"

#include <emmintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace thalweg::comm {
namespace {

constexpr size_t kLine = 64;

void stream_lines(std::byte* target, const std::byte* source, size_t lines) {
  for (size_t i = 0; i < lines; ++i, target += kLine, source += kLine) {
    const auto* from = reinterpret_cast<const __m128i*>(source);
    auto* to = reinterpret_cast<__m128i*>(target);
    const __m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1);
    const __m128i c = _mm_loadu_si128(from + 2), d = _mm_loadu_si128(from + 3);
    _mm_stream_si128(to, a);
    _mm_stream_si128(to + 1, b);
    _mm_stream_si128(to + 2, c);
    _mm_stream_si128(to + 3, d);
  }
  _mm_sfence();
}

}  // namespace

bool is_large(size_t bytes) { return bytes >= size_t{32} << 20U; }

void copy_to_memory(void* target, const void* source, size_t bytes, bool past_caches) {
  auto* to = static_cast<std::byte*>(target);
  const auto* from = static_cast<const std::byte*>(source);
  const size_t head = std::min(bytes, (kLine - reinterpret_cast<uintptr_t>(to) % kLine) % kLine);
  if (!past_caches || bytes < 4 * kLine) {
    std::memcpy(to, from, bytes);
    return;
  }
  std::memcpy(to, from, head);
  const size_t lines = (bytes - head) / kLine;
  stream_lines(to + head, from + head, lines);
  const size_t copied = head + lines * kLine;
  std::memcpy(to + copied, from + copied, bytes - copied);
}

}  // namespace thalweg::comm
