// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/panel_gemm.h"

#include <cstring>

namespace thalweg::simd::TW_SIMD_NS {
namespace {

// Rows by vectors of a tile: as many sums as the registers hold beside a row of b and a broadcast element of a.
#if defined(__AVX512F__)
constexpr int kLanes = 16, kRows = 6, kVectors = 4;
#elif defined(__AVX2__)
constexpr int kLanes = 8, kRows = 6, kVectors = 2;
#else
constexpr int kLanes = 4, kRows = 4, kVectors = 2;
#endif
static_assert(64 % (kLanes * kVectors) == 0, "packed_size rounds up to 64 columns");

using Vector = float __attribute__((vector_size(kLanes * sizeof(float))));
struct __attribute__((packed)) Unaligned {
  Vector value;
};

inline const Unaligned* vector_at(const float* p) { return reinterpret_cast<const Unaligned*>(p); }
inline Unaligned* vector_at(float* p) { return reinterpret_cast<Unaligned*>(p); }

/// One tile of R rows and one panel of V vectors.
template <int R, int V>
void tile(const MatrixView& view, const float* panel, int64_t k, float* c, int64_t c_stride, bool accumulate) {
  const float* a = view.data;
  const int64_t row_stride = view.row_stride, column_stride = view.column_stride;
  Vector sums[R][V];
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) {
      sums[r][v] = accumulate ? vector_at(c + r * c_stride + v * kLanes)->value : Vector{};
    }
  }
  for (int64_t p = 0; p < k; ++p) {
    Vector b[V];
    for (int v = 0; v < V; ++v) b[v] = vector_at(panel + v * kLanes)->value;
    for (int r = 0; r < R; ++r) {
      const float element = a[r * row_stride];
      for (int v = 0; v < V; ++v) sums[r][v] += element * b[v];
    }
    panel += V * kLanes;
    a += column_stride;
  }
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) vector_at(c + r * c_stride + v * kLanes)->value = sums[r][v];
  }
}

template <int V>
void rows_of_tile(int rows, const MatrixView& a, const float* panel, int64_t k, float* c, int64_t c_stride,
                  bool accumulate) {
  switch (rows) {
    case 1: tile<1, V>(a, panel, k, c, c_stride, accumulate); break;
    case 2: tile<2, V>(a, panel, k, c, c_stride, accumulate); break;
    case 3: tile<3, V>(a, panel, k, c, c_stride, accumulate); break;
    case 4: tile<4, V>(a, panel, k, c, c_stride, accumulate); break;
#if defined(__AVX2__)
    case 5: tile<5, V>(a, panel, k, c, c_stride, accumulate); break;
    default: tile<6, V>(a, panel, k, c, c_stride, accumulate); break;
#else
    default: break;
#endif
  }
}

/// The last panel if it is not full: through a tile of its own.
template <int V>
void narrow_tile(int rows, int64_t columns, const MatrixView& a, const float* panel, int64_t k, float* c,
                 int64_t c_stride, bool accumulate) {
  constexpr int kWidth = V * kLanes;
  float block[kRows * kWidth] = {};
  if (accumulate) {
    for (int r = 0; r < rows; ++r) {
      for (int64_t j = 0; j < columns; ++j) block[r * kWidth + j] = c[r * c_stride + j];
    }
  }
  rows_of_tile<V>(rows, a, panel, k, block, kWidth, accumulate);
  for (int r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < columns; ++j) c[r * c_stride + j] = block[r * kWidth + j];
  }
}

template <int V>
void pack(const MatrixView& b, int64_t k, int64_t n, float* packed) {
  constexpr int kWidth = V * kLanes;
  for (int64_t first = 0; first < n; first += kWidth) {
    const int64_t columns = n - first < kWidth ? n - first : kWidth;
    for (int64_t p = 0; p < k; ++p) {
      const float* row = b.data + p * b.row_stride + first * b.column_stride;
      for (int64_t j = 0; j < columns; ++j) packed[j] = row[j * b.column_stride];
      for (int64_t j = columns; j < kWidth; ++j) packed[j] = 0.0f;
      packed += kWidth;
    }
  }
}

template <int V>
void multiply(const MatrixView& a, const float* packed, int64_t m, int64_t n, int64_t k, float* c, int64_t c_stride,
              bool accumulate) {
  constexpr int kWidth = V * kLanes;
  for (int64_t first = 0; first < n; first += kWidth) {
    const float* panel = packed + first * k;
    for (int64_t row = 0; row < m; row += kRows) {
      const int rows = static_cast<int>(m - row < kRows ? m - row : kRows);
      const MatrixView block{a.data + row * a.row_stride, a.row_stride, a.column_stride};
      float* out = c + row * c_stride + first;
      if (n - first >= kWidth) {
        rows_of_tile<V>(rows, block, panel, k, out, c_stride, accumulate);
      } else {
        narrow_tile<V>(rows, n - first, block, panel, k, out, c_stride, accumulate);
      }
    }
  }
}

/// Panels are half as wide if that is enough: attention heads often have 32 columns.
bool is_narrow(int64_t n) { return n <= kLanes * kVectors / 2; }

}  // namespace

void pack_panels(MatrixView b, int64_t k, int64_t n, float* packed) {
  is_narrow(n) ? pack<kVectors / 2>(b, k, n, packed) : pack<kVectors>(b, k, n, packed);
}

void panel_gemm(MatrixView a, const float* packed, int64_t m, int64_t n, int64_t k, float* c, int64_t c_stride,
                bool accumulate) {
  if (is_narrow(n)) {
    multiply<kVectors / 2>(a, packed, m, n, k, c, c_stride, accumulate);
  } else {
    multiply<kVectors>(a, packed, m, n, k, c, c_stride, accumulate);
  }
}

}  // namespace thalweg::simd::TW_SIMD_NS
