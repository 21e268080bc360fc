// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/native/winograd_accuracy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/aligned_buffer.h"
#include "runtime/kernels/native/winograd_plan.h"

namespace thalweg {
namespace {

/// One tile of a convolution by some of the output channels.
struct Sample {
  WinogradShape shape;
  int64_t in_channels = 0;
  int64_t channels = 0;  ///< output channels that are looked at
  std::vector<float> x;  ///< [in blocks][extent][extent][lanes]
  /// In blocks, as the kernels take them. Megabytes for a moment would leave holes in the heap.
  AlignedBuffer weights = {};

  float* w() const { return static_cast<float*>(weights.data()); }
  int extent() const { return shape.m + 2; }
};

/// Between -1 and 1, the same in every run.
float noise(size_t index) {
  const auto mixed = static_cast<uint32_t>(index) * 2654435761U;
  return static_cast<float>(mixed >> 8) / static_cast<float>(1U << 23) - 1.0F;
}

Sample take_sample(const Tensor& weights, int m) {
  Sample sample;
  sample.in_channels = weights.shape()[1];
  const int64_t all = weights.shape()[0];
  const Shape x{1, sample.in_channels, m + 2, m + 2};
  Window window{{3, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 1}};
  WinogradShape& shape = sample.shape;
  // One panel.
  const int64_t taken =
      std::min<int64_t>(all, simd::block_lanes(simd::best_isa()) * simd::panel_vectors(simd::best_isa()));
  shape = winograd_shape({window, 1, x, Shape{taken, sample.in_channels, 3, 3}, Shape{1, taken, m, m}},
                         WinogradPass::kForward, m);
  sample.channels = taken;
  const int64_t lanes = shape.lanes;
  sample.x.resize(static_cast<size_t>(shape.in.blocks * shape.in.height * shape.in.width * lanes));
  for (size_t i = 0; i < sample.x.size(); ++i) sample.x[i] = noise(i);
  sample.weights =
      AlignedBuffer(static_cast<size_t>(shape.panel_vectors * shape.in.blocks * 9 * lanes * lanes) * sizeof(float));
  const float* from = weights.data<float>();
  for (int64_t o = 0; o < taken; ++o) {
    const int64_t block = o / lanes, lane = o % lanes;
    for (int64_t i = 0; i < sample.in_channels; ++i) {
      float* to = sample.w() + ((block * shape.in.blocks + i / lanes) * 9 * lanes + i % lanes) * lanes + lane;
      for (int64_t k = 0; k < 9; ++k) to[k * lanes * lanes] = from[(o * all / taken * sample.in_channels + i) * 9 + k];
    }
  }
  return sample;
}

/// The outputs [blocks][m][m][lanes] by the kernels' own loops.
std::vector<float> transformed_outputs(const Sample& sample) {
  const WinogradShape& shape = sample.shape;
  const simd::WinogradWeights weights = shape.weights(false);
  const AlignedBuffer transformed(static_cast<size_t>(shape.weights_floats()) * sizeof(float));
  auto* u = static_cast<float*>(transformed.data());
  simd::winograd_weights(shape.m, weights, sample.w(), 0, shape.out.blocks, u);
  simd::WinogradTiles in = winograd_tiles(shape, shape.in.blocks, 1, 1);
  simd::WinogradTiles out = winograd_tiles(shape, shape.panel_vectors, shape.panel_vectors, 1);
  std::vector<float> in_data(static_cast<size_t>(winograd_tiles_floats(shape, in)));
  std::vector<float> out_data(static_cast<size_t>(winograd_tiles_floats(shape, out)));
  in.data = in_data.data();
  out.data = out_data.data();
  simd::winograd_input(shape.m, shape.in, sample.x.data(), {0, 1, 0, 0, shape.in.blocks}, in);
  for (int64_t point = 0; point < shape.points(); ++point) {
    simd::WinogradProduct product{};
    product.left = in.data + point * in.point_stride;
    product.left_stride = in.panel_stride;
    product.right = u + point * weights.point_stride;
    product.result = out.data + point * out.point_stride;
    product.tiles = 1;
    product.channel_blocks = shape.in.blocks;
    product.vectors = shape.vectors_of(0);
    simd::winograd_multiply(product);
  }
  std::vector<float> y(static_cast<size_t>(shape.out.blocks * shape.m * shape.m * shape.lanes));
  simd::winograd_output(shape.m, shape.out, out, {0, 1, 0, 0, shape.out.blocks}, {}, y.data());
  return y;
}

/// The m x m outputs of a block of channels by the plain sum, [point][lane].
template <size_t kLanes>
std::vector<double> direct_outputs(const Sample& sample, int64_t block) {
  const int m = sample.shape.m, extent = sample.extent();
  const auto lanes = static_cast<int64_t>(kLanes);
  std::vector<double> result;
  for (int point = 0; point < m * m; ++point) {
    std::array<double, kLanes> sums{};
    for (int64_t i = 0; i < sample.in_channels; ++i) {
      const float* x = sample.x.data() + i / lanes * extent * extent * lanes + i % lanes;
      const float* w = sample.w() + ((block * sample.shape.in.blocks + i / lanes) * 9 * lanes + i % lanes) * lanes;
      for (int k = 0; k < 9; ++k) {
        const double pixel = x[((point / m + k / 3) * extent + point % m + k % 3) * lanes];
        for (size_t lane = 0; lane < kLanes; ++lane) {
          sums[lane] += pixel * static_cast<double>(w[k * lanes * lanes + static_cast<int64_t>(lane)]);
        }
      }
    }
    result.insert(result.end(), sums.begin(), sums.end());
  }
  return result;
}

}  // namespace

double winograd_error(const Tensor& weights, int m) {
  const Sample sample = take_sample(weights, m);
  const std::vector<float> y = transformed_outputs(sample);
  const auto lanes = static_cast<size_t>(sample.shape.lanes), points = static_cast<size_t>(m * m);
  const auto channels = static_cast<size_t>(sample.channels);
  double worst = 0;
  for (size_t block = 0; block * lanes < channels; ++block) {
    const std::vector<double> expected = lanes == 16 ? direct_outputs<16>(sample, static_cast<int64_t>(block))
                                                     : direct_outputs<8>(sample, static_cast<int64_t>(block));
    const float* actual = y.data() + block * points * lanes;
    for (size_t lane = 0; lane < lanes && block * lanes + lane < channels; ++lane) {
      double error = 0, largest = 0;
      for (size_t at = lane; at < points * lanes; at += lanes) {
        if (!std::isfinite(actual[at])) return std::numeric_limits<double>::infinity();
        error = std::max(error, std::abs(static_cast<double>(actual[at]) - expected[at]));
        largest = std::max(largest, std::abs(expected[at]));
      }
      if (largest > 0) worst = std::max(worst, error / largest);
    }
  }
  return worst;
}

}  // namespace thalweg
