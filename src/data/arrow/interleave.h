// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <xmmintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

/// Columns to rows. In a header for its element types.
namespace thalweg::data {
namespace detail {

/// Four rows of four columns of four bytes each, which four instructions transpose.
template <typename T>
void interleave_square(const T* const* columns, int64_t row, T* out, int64_t width) {
  static_assert(sizeof(T) == sizeof(float));
  const auto load = [&](size_t c) { return _mm_loadu_ps(reinterpret_cast<const float*>(columns[c] + row)); };
  __m128 a = load(0);
  __m128 b = load(1);
  __m128 c = load(2);
  __m128 d = load(3);
  _MM_TRANSPOSE4_PS(a, b, c, d);
  const auto store = [&](int64_t r, __m128 v) { _mm_storeu_ps(reinterpret_cast<float*>(out + (row + r) * width), v); };
  store(0, a);
  store(1, b);
  store(2, c);
  store(3, d);
}

}  // namespace detail

/// Columns that together fill a line of the cache.
template <typename T>
constexpr size_t kLineColumns = 64 / sizeof(T);

/// Writes element r of column c to out[r * width + c], in squares that stay in the cache both ways.
template <typename T>
void interleave(std::span<const T* const> columns, int64_t rows, T* out, int64_t width) {
  constexpr int64_t kRows = 64;
  for (int64_t r0 = 0; r0 < rows; r0 += kRows) {
    const int64_t r1 = std::min(rows, r0 + kRows);
    for (size_t c0 = 0; c0 < columns.size(); c0 += kLineColumns<T>) {
      const size_t c1 = std::min(columns.size(), c0 + kLineColumns<T>);
      if constexpr (sizeof(T) == sizeof(float)) {
        if ((c1 - c0) % 4 == 0 && (r1 - r0) % 4 == 0) {
          // A row's line is filled before the next one is begun.
          for (int64_t r = r0; r < r1; r += 4) {
            for (size_t c = c0; c < c1; c += 4) {
              detail::interleave_square(columns.data() + c, r, out + static_cast<int64_t>(c), width);
            }
          }
          continue;
        }
      }
      for (int64_t r = r0; r < r1; ++r) {
        T* row = out + r * width;
        for (size_t c = c0; c < c1; ++c) row[c] = columns[c][r];
      }
    }
  }
}

}  // namespace thalweg::data
