// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/winograd.h"
#include "runtime/kernels/simd/winograd_points.h"

namespace thalweg::simd::TW_SIMD_NS {
namespace {

constexpr int kLanes = kWinogradLanes;
constexpr int kPanel = kWinogradPanelVectors * kLanes;
using V = WinogradVector;

// Rows of a tile of sums, by its vectors: as many as the registers hold beside a row of the right side and one
// broadcast element of the left.
#if defined(__AVX512F__)
constexpr int kSums = 24;
#else
constexpr int kSums = 12;
#endif

template <int rows, int vectors>
struct Sums {
  V sum[rows][vectors];

  void start(const float* result, bool accumulate) {
#pragma GCC unroll 24
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sum[r][v] = accumulate ? load_vector(result + r * kPanel + v * kLanes) : V{};
    }
  }
  /// Adds the product of a column of the left side, elements `stride` apart, and a row of the right.
  void add(const float* left, int64_t stride, const float* right) {
    V row[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) row[v] = load_vector(right + v * kLanes);
#pragma GCC unroll 24
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sum[r][v] += left[r * stride] * row[v];
    }
  }
  void finish(float* result) const {
#pragma GCC unroll 24
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) store_vector(result + r * kPanel + v * kLanes, sum[r][v]);
    }
  }
};

template <int rows, int vectors>
void rows_by_channels(const WinogradProduct& product, int64_t row) {
  float* result = product.result + row * kPanel;
  Sums<rows, vectors> sums;
  sums.start(result, product.accumulate);
  const float* right = product.right;
  const float* left = product.left + row * kLanes;
  for (int64_t block = 0; block < product.channel_blocks; ++block) {
#pragma GCC unroll 4
    for (int c = 0; c < kLanes; ++c) {
      sums.add(left + c, kLanes, right);
      right += kPanel;
    }
    left += product.left_stride;
  }
  sums.finish(result);
}

template <int vectors>
void multiply(const WinogradProduct& product) {
  constexpr int rows = kSums / vectors;
  int64_t row = 0;
  for (; row + rows <= product.tiles; row += rows) rows_by_channels<rows, vectors>(product, row);
  for (; row + 4 <= product.tiles; row += 4) rows_by_channels<4, vectors>(product, row);
  for (; row < product.tiles; ++row) rows_by_channels<1, vectors>(product, row);
}

template <int rows, int vectors>
void channels_by_tiles(const WinogradProduct& product, int64_t block, int channel) {
  float* result = product.result + (block * kLanes + channel) * kPanel;
  Sums<rows, vectors> sums;
  sums.start(result, product.accumulate);
  const float* left = product.left + block * product.left_stride + channel;
  const float* right = product.right;
#pragma GCC unroll 2
  for (int64_t t = 0; t < product.tiles; ++t) {
    sums.add(left, 1, right);
    left += kLanes;
    right += kPanel;
  }
  sums.finish(result);
}

template <int vectors>
void multiply_tiles(const WinogradProduct& product) {
  for (int64_t block = 0; block < product.channel_blocks; ++block) {
#if defined(__AVX512F__)
    if constexpr (vectors > 2) {
      channels_by_tiles<6, vectors>(product, block, 0);
      channels_by_tiles<5, vectors>(product, block, 6);
      channels_by_tiles<5, vectors>(product, block, 11);
    } else {
      channels_by_tiles<8, vectors>(product, block, 0);
      channels_by_tiles<8, vectors>(product, block, 8);
    }
#else
    for (int channel = 0; channel < kLanes; channel += 4) channels_by_tiles<4, vectors>(product, block, channel);
#endif
  }
}

}  // namespace

void winograd_multiply(const WinogradProduct& product) {
  switch (product.vectors) {
    case 1: multiply<1>(product); break;
    case 2: multiply<2>(product); break;
#if defined(__AVX512F__)
    case 3: multiply<3>(product); break;
    case 4: multiply<4>(product); break;
#endif
    default: break;
  }
}

void winograd_multiply_tiles(const WinogradProduct& product) {
  switch (product.vectors) {
    case 1: multiply_tiles<1>(product); break;
    case 2: multiply_tiles<2>(product); break;
#if defined(__AVX512F__)
    case 3: multiply_tiles<3>(product); break;
    case 4: multiply_tiles<4>(product); break;
#endif
    default: break;
  }
}

}  // namespace thalweg::simd::TW_SIMD_NS
