// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/conv_lines.h"

#include "runtime/kernels/simd/vec.h"

namespace thalweg::simd::TW_SIMD_NS {
namespace {

// Sums of a tile, channels by vectors: as many as the registers hold beside a row of vectors of the source.
#if defined(__AVX512F__)
constexpr int kVectors = 4;
#else
constexpr int kVectors = 2;
#endif
constexpr int kChannels = 4;

/// Stores `count` of the floats of a vector.
static inline void store_some(float* to, const Vec& value, int64_t count) {
  float all[kLanes];
  store(all, value);
  for (int64_t i = 0; i < count; ++i) to[i] = all[i];
}

template <int channels, int vectors>
void tile(const ConvLine& line, int64_t channel, int64_t pixel) {
  Vec sums[channels][vectors];
  for (int c = 0; c < channels; ++c) {
    const Vec bias = splat<Vec>(line.bias != nullptr ? line.bias[channel + c] : 0.0F);
    for (int v = 0; v < vectors; ++v) sums[c][v] = bias;
  }
  const float* const weights = line.weights + channel * line.taps;
  for (int64_t tap = 0; tap < line.taps; ++tap) {
    const float* from = line.source + line.offsets[tap] + pixel;
    Vec source[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) source[v] = load<Vec>(from + v * kLanes);
#pragma GCC unroll 4
    for (int c = 0; c < channels; ++c) {
      const float weight = weights[c * line.taps + tap];
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sums[c][v] += source[v] * weight;
    }
  }
  for (int c = 0; c < channels; ++c) {
    float* to = line.result + (channel + c) * line.result_stride + pixel;
    for (int v = 0; v < vectors; ++v) {
      const int64_t left = line.pixels - pixel - v * kLanes;
      left >= kLanes ? store(to + v * kLanes, sums[c][v]) : store_some(to + v * kLanes, sums[c][v], left);
    }
  }
}

template <int channels>
void line_of_channels(const ConvLine& line, int64_t channel) {
  int64_t pixel = 0;
  for (; pixel + (kVectors - 1) * kLanes < line.pixels; pixel += kVectors * kLanes) {
    tile<channels, kVectors>(line, channel, pixel);
  }
  for (; pixel < line.pixels; pixel += kLanes) tile<channels, 1>(line, channel, pixel);
}

}  // namespace

void conv_line(const ConvLine& line) {
  int64_t channel = 0;
  for (; channel + kChannels <= line.channels; channel += kChannels) line_of_channels<kChannels>(line, channel);
  for (; channel + 2 <= line.channels; channel += 2) line_of_channels<2>(line, channel);
  for (; channel < line.channels; ++channel) line_of_channels<1>(line, channel);
}

}  // namespace thalweg::simd::TW_SIMD_NS
