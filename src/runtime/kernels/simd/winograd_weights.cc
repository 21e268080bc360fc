// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/winograd.h"
#include "runtime/kernels/simd/winograd_points.h"

namespace thalweg::simd::TW_SIMD_NS {
namespace {

constexpr int kLanes = kBlockLanes;
constexpr int kBlock = kLanes * kLanes;
using V = BlockVector;

/// A block of weights [3 x 3][lanes][lanes] with rows and columns exchanged and the kernel turned by 180 degrees.
void turn_block(const float* block, float* turned) {
  for (int k = 0; k < 9; ++k) {
    for (int row = 0; row < kLanes; ++row) {
      for (int column = 0; column < kLanes; ++column) {
        turned[(8 - k) * kBlock + column * kLanes + row] = block[k * kBlock + row * kLanes + column];
      }
    }
  }
}

/// Where row `row` of a column block lies among the transformed weights of a point.
int64_t transformed_offset(const WinogradWeights& job, int64_t row, int64_t column_block) {
  return column_block / job.vectors * job.panel_stride + (row * job.vectors + column_block % job.vectors) * kLanes;
}

/// One row of a block of weights [3 x 3][lanes][lanes].
template <int m>
void transform_row(const float* row, float* to, int64_t point_stride) {
  constexpr int extent = m + 2;
  V changed[extent][extent];
  transform_square<3, extent>([=](int y, int x) { return load_vector(row + (y * 3 + x) * kBlock); }, changed,
                              [](const V(&g)[3], V(&out)[extent]) { WinogradPoints<m>::weights(g, out); });
  for (int p = 0; p < extent * extent; ++p) store_vector(to + p * point_stride, changed[p / extent][p % extent]);
}

template <int m>
void transform(const WinogradWeights& job, const float* w, int64_t begin, int64_t end, float* u) {
  float turned[9 * kBlock * kPanelVectors];
  for (int64_t row = 0; row < job.row_blocks; ++row) {
    const float* blocks[kPanelVectors];
    for (int64_t column = begin; column < end; ++column) {
      const float*& block = blocks[column - begin];
      block = w + (job.turned ? row * job.column_blocks + column : column * job.row_blocks + row) * (9 * kBlock);
      if (!job.turned) continue;
      float* own = turned + (column - begin) * (9 * kBlock);
      turn_block(block, own);
      block = own;
    }
    // The vectors of a panel one after the other: they lie side by side in every point.
    for (int i = 0; i < kLanes; ++i) {
      for (int64_t column = begin; column < end; ++column) {
        transform_row<m>(blocks[column - begin] + i * kLanes, u + transformed_offset(job, row * kLanes + i, column),
                         job.point_stride);
      }
    }
  }
}

template <int m>
void transform_adjoint(const WinogradWeights& job, const float* u, int64_t begin, int64_t end, float* w) {
  constexpr int extent = m + 2;
  const auto one = [](const V(&p)[extent], V(&out)[3]) { WinogradPoints<m>::weights_adjoint(p, out); };
  for (int64_t column = begin; column < end; ++column) {
    for (int64_t row = 0; row < job.row_blocks; ++row) {
      float* block = w + (column * job.row_blocks + row) * (9 * kBlock);
      for (int i = 0; i < kLanes; ++i) {
        const float* from = u + transformed_offset(job, row * kLanes + i, column);
        V kernel[3][3];
        const auto add_parts = [&](int y, int x) {
          const float* point = from + (y * extent + x) * job.point_stride;
          V sum = load_vector(point);
          for (int64_t part = 1; part < job.parts; ++part) sum += load_vector(point + part * job.part_stride);
          return sum;
        };
        transform_square<extent, 3>(add_parts, kernel, one);
        for (int k = 0; k < 9; ++k) store_vector(block + k * kBlock + i * kLanes, kernel[k / 3][k % 3]);
      }
    }
  }
}

}  // namespace

void winograd_weights(int m, const WinogradWeights& job, const float* w, int64_t begin, int64_t end, float* u) {
  m == 2 ? transform<2>(job, w, begin, end, u) : transform<4>(job, w, begin, end, u);
}

void winograd_weights_adjoint(int m, const WinogradWeights& job, const float* u, int64_t begin, int64_t end, float* w) {
  m == 2 ? transform_adjoint<2>(job, u, begin, end, w) : transform_adjoint<4>(job, u, begin, end, w);
}

}  // namespace thalweg::simd::TW_SIMD_NS
