// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/image/resample.h"

#include <smmintrin.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

namespace thalweg::data {
namespace {

/// Filters as functions of the distance in pixels (of the coarser of the two images).
struct Filter {
  double radius;
  double (*weight)(double);
};

double triangle(double x) { return std::max(0.0, 1.0 - std::abs(x)); }
double box(double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }
double cubic(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1.0;
  if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * kA;
  return 0.0;
}

Filter filter_of(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::kBicubic: return {2.0, cubic};
    case Interpolation::kArea: return {0.5, box};
    default: return {1.0, triangle};
  }
}

/// One loop step of the row filter handles four pixels.
constexpr int64_t kTapsTogether = 4;

/// For each pixel of the result along one axis, the pixels of the source that it is made of. Weights are integers in
/// units of 2^-bits that add up to 2^bits exactly: an even surface stays even.
struct Axis {
  int64_t size = 0;
  int64_t taps = 0;  ///< a multiple of kTapsTogether; unused ones have weight 0
  int bits = 0;
  std::vector<int64_t> first;
  std::vector<int16_t> weights;

  const int16_t* weights_of(int64_t i) const { return weights.data() + i * taps; }
};

/// Rounds so that the sum is kept: what rounding gained or lost goes to the largest weight.
void quantize(std::span<const double> exact, int bits, int16_t* weights) {
  const double unit = std::ldexp(1.0, bits);
  int64_t rest = int64_t{1} << bits;
  size_t largest = 0;
  for (size_t t = 0; t < exact.size(); ++t) {
    weights[t] = static_cast<int16_t>(std::lround(exact[t] * unit));
    rest -= weights[t];
    if (exact[t] > exact[largest]) largest = t;
  }
  weights[largest] = static_cast<int16_t>(weights[largest] + rest);
}

/// The pixels [begin, begin + length) of `limit` ones become `size`.
Axis make_axis(double begin, double length, int64_t limit, int64_t size, const Filter& filter) {
  const double scale = length / static_cast<double>(size);
  const double width = std::max(scale, 1.0);
  const double radius = filter.radius * width;
  const auto low = std::clamp<int64_t>(static_cast<int64_t>(std::floor(begin)), 0, limit - 1);
  const auto high = std::clamp<int64_t>(static_cast<int64_t>(std::ceil(begin + length)), low + 1, limit);
  Axis axis;
  axis.size = size;
  axis.taps = static_cast<int64_t>(std::ceil(2 * radius)) + 1;
  axis.taps = (axis.taps + kTapsTogether - 1) / kTapsTogether * kTapsTogether;
  std::vector<double> exact(static_cast<size_t>(size * axis.taps), 0.0);
  double largest = 0.0;
  for (int64_t i = 0; i < size; ++i) {
    const double center = begin + (static_cast<double>(i) + 0.5) * scale;
    const int64_t first = std::clamp(static_cast<int64_t>(std::floor(center - radius + 0.5)), low, high - 1);
    const int64_t last = std::clamp(static_cast<int64_t>(std::floor(center + radius + 0.5)), first + 1, high);
    double* weights = exact.data() + i * axis.taps;
    double sum = 0.0;
    for (int64_t x = first; x < last; ++x) {
      sum += weights[x - first] = filter.weight((static_cast<double>(x) - center + 0.5) / width);
    }
    if (sum == 0.0) sum = weights[0] = 1.0;
    for (int64_t t = 0; t < last - first; ++t) largest = std::max(largest, std::abs(weights[t] /= sum));
    axis.first.push_back(first);
  }
  // As many bits as 16-bit weights can have; 2^20 times 255 still fits the 32-bit sums.
  while (axis.bits < 20 && std::ldexp(largest, axis.bits + 1) < 32000.0) ++axis.bits;
  axis.weights.resize(exact.size());
  for (int64_t i = 0; i < size; ++i) {
    const auto offset = static_cast<size_t>(i * axis.taps);
    quantize(std::span(exact).subspan(offset, static_cast<size_t>(axis.taps)), axis.bits, axis.weights.data() + offset);
  }
  return axis;
}

/// Along a row of RGB pixels. Reads 4 bytes past the last tap and writes 1 past the last pixel.
void filter_row_rgb(const uint8_t* in, const Axis& axis, uint8_t* out) {
  // Bytes of four pixels, widened and paired so that one instruction multiplies and adds two taps of each channel.
  const __m128i pair01 = _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1);
  const __m128i pair23 = _mm_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1);
  const __m128i half = _mm_set1_epi32(1 << (axis.bits - 1));
  const __m128i shift = _mm_cvtsi32_si128(axis.bits);
  for (int64_t i = 0; i < axis.size; ++i) {
    const uint8_t* pixel = in + 3 * axis.first[static_cast<size_t>(i)];
    const int16_t* weights = axis.weights_of(i);
    __m128i sum = half;
    for (int64_t t = 0; t < axis.taps; t += kTapsTogether) {
      const __m128i four = _mm_loadu_si128(reinterpret_cast<const __m128i*>(pixel + 3 * t));
      const __m128i w = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(weights + t));
      sum = _mm_add_epi32(sum, _mm_madd_epi16(_mm_shuffle_epi8(four, pair01), _mm_shuffle_epi32(w, 0x00)));
      sum = _mm_add_epi32(sum, _mm_madd_epi16(_mm_shuffle_epi8(four, pair23), _mm_shuffle_epi32(w, 0x55)));
    }
    sum = _mm_sra_epi32(sum, shift);
    sum = _mm_packs_epi32(sum, sum);
    const int packed = _mm_cvtsi128_si32(_mm_packus_epi16(sum, sum));
    std::memcpy(out + 3 * i, &packed, sizeof packed);
  }
}

void filter_row(const uint8_t* in, int64_t channels, const Axis& axis, uint8_t* out) {
  if (channels == 3) {
    filter_row_rgb(in, axis, out);
    return;
  }
  for (int64_t i = 0; i < axis.size; ++i) {
    const uint8_t* pixel = in + channels * axis.first[static_cast<size_t>(i)];
    const int16_t* weights = axis.weights_of(i);
    for (int64_t c = 0; c < channels; ++c) {
      int32_t sum = 1 << (axis.bits - 1);
      for (int64_t t = 0; t < axis.taps; ++t) sum += weights[t] * pixel[channels * t + c];
      out[channels * i + c] = static_cast<uint8_t>(std::clamp(sum >> axis.bits, 0, 255));
    }
  }
}

constexpr int64_t kColumnsTogether = 16;

/// One row of the result from `taps` rows of the source that lie `stride` bytes apart. Works on whole groups of
/// columns.
void filter_columns(const uint8_t* in, int64_t stride, int64_t columns, const Axis& axis, int64_t i, uint8_t* out) {
  const __m128i zero = _mm_setzero_si128();
  const __m128i shift = _mm_cvtsi32_si128(axis.bits);
  const int16_t* weights = axis.weights_of(i);
  for (int64_t x = 0; x < columns; x += kColumnsTogether) {
    __m128i sums[4];
    for (__m128i& sum : sums) sum = _mm_set1_epi32(1 << (axis.bits - 1));
    for (int64_t t = 0; t < axis.taps; t += 2) {
      int pair = 0;
      std::memcpy(&pair, weights + t, sizeof pair);
      if (pair == 0) continue;
      const __m128i w = _mm_set1_epi32(pair);
      const __m128i upper = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + t * stride + x));
      const __m128i lower = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + (t + 1) * stride + x));
      const __m128i left = _mm_unpacklo_epi8(upper, lower);
      const __m128i right = _mm_unpackhi_epi8(upper, lower);
      sums[0] = _mm_add_epi32(sums[0], _mm_madd_epi16(_mm_unpacklo_epi8(left, zero), w));
      sums[1] = _mm_add_epi32(sums[1], _mm_madd_epi16(_mm_unpackhi_epi8(left, zero), w));
      sums[2] = _mm_add_epi32(sums[2], _mm_madd_epi16(_mm_unpacklo_epi8(right, zero), w));
      sums[3] = _mm_add_epi32(sums[3], _mm_madd_epi16(_mm_unpackhi_epi8(right, zero), w));
    }
    for (__m128i& sum : sums) sum = _mm_sra_epi32(sum, shift);
    const __m128i packed = _mm_packus_epi16(_mm_packs_epi32(sums[0], sums[1]), _mm_packs_epi32(sums[2], sums[3]));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + x), packed);
  }
}

/// Rows of the result from `y` on that are made together: as many as rows of the source, filtered along their length to
/// `stride` bytes each, take little memory. For all but very high images these are all rows; where bands meet, a few
/// rows of the source are filtered twice.
int64_t end_of_band(const Axis& down, int64_t y, int64_t stride) {
  constexpr int64_t kBandBytes = int64_t{16} << 20;
  const int64_t last = down.first[static_cast<size_t>(y)] + kBandBytes / stride - down.taps;
  const auto from = down.first.begin() + y + 1;
  return std::upper_bound(from, down.first.end(), last) - down.first.begin();
}

Tensor nearest(const Tensor& image, const Area& area, ImageSize size) {
  const int64_t channels = image.shape()[2];
  const Tensor result = new_image(size, channels);
  const auto source = [](double begin, double length, int64_t limit, int64_t count, int64_t i) {
    const double at = begin + (static_cast<double>(i) + 0.5) * length / static_cast<double>(count);
    return std::clamp<int64_t>(static_cast<int64_t>(std::floor(at)), 0, limit - 1);
  };
  std::vector<int64_t> columns;
  for (int64_t x = 0; x < size.width; ++x) {
    columns.push_back(channels * source(area.x, area.width, image.shape()[1], size.width, x));
  }
  uint8_t* out = result.data<uint8_t>();
  for (int64_t y = 0; y < size.height; ++y) {
    const uint8_t* row = image.data<uint8_t>() +
                         source(area.y, area.height, image.shape()[0], size.height, y) * image.shape()[1] * channels;
    for (const int64_t column : columns) out = std::copy_n(row + column, channels, out);
  }
  return result;
}

}  // namespace

Tensor resample(const Tensor& image, const Area& area, ImageSize size, Interpolation interpolation) {
  if (interpolation == Interpolation::kNearest) return nearest(image, area, size);
  const int64_t height = image.shape()[0];
  const int64_t width = image.shape()[1];
  const int64_t channels = image.shape()[2];
  const Filter filter = filter_of(interpolation);
  const Axis across = make_axis(area.x, area.width, width, size.width, filter);
  const Axis down = make_axis(area.y, area.height, height, size.height, filter);

  const int64_t columns = size.width * channels;
  const int64_t stride = (columns + kColumnsTogether) / kColumnsTogether * kColumnsTogether + kColumnsTogether;
  // Taps of weight 0 may lie past the end of a row, or past the last one.
  thread_local std::vector<uint8_t> padded_row, filtered, padded_result;
  padded_row.assign(static_cast<size_t>((width + across.taps) * channels + 16), 0);
  padded_result.resize(static_cast<size_t>(stride));
  const Tensor result = new_image(size, channels);
  for (int64_t y = 0; y < size.height;) {
    const int64_t end = end_of_band(down, y, stride);
    const int64_t first = down.first[static_cast<size_t>(y)];
    const int64_t rows = down.first[static_cast<size_t>(end - 1)] + down.taps - first;
    filtered.resize(static_cast<size_t>(rows * stride));
    for (int64_t row = 0; row < std::min(rows, height - first); ++row) {
      std::memcpy(padded_row.data(), image.data<uint8_t>() + (first + row) * width * channels,
                  static_cast<size_t>(width * channels));
      filter_row(padded_row.data(), channels, across, filtered.data() + row * stride);
    }
    for (; y < end; ++y) {
      const int64_t begin = down.first[static_cast<size_t>(y)] - first;
      filter_columns(filtered.data() + begin * stride, stride, columns, down, y, padded_result.data());
      std::memcpy(result.data<uint8_t>() + y * columns, padded_result.data(), static_cast<size_t>(columns));
    }
  }
  return result;
}

Tensor crop(const Tensor& image, int64_t left, int64_t top, ImageSize size, const std::vector<uint8_t>& fill) {
  const int64_t height = image.shape()[0];
  const int64_t width = image.shape()[1];
  const int64_t channels = image.shape()[2];
  const Tensor result = new_image(size, channels);
  uint8_t* out = result.data<uint8_t>();
  const bool inside = left >= 0 && top >= 0 && left + size.width <= width && top + size.height <= height;
  for (int64_t i = 0; !inside && i < result.num_elements(); ++i) {
    out[i] = fill[fill.size() == 1 ? 0 : static_cast<size_t>(i % channels)];
  }
  const int64_t x0 = std::max<int64_t>(0, -left);
  const int64_t x1 = std::min(size.width, width - left);
  if (x1 <= x0) return result;
  for (int64_t y = std::max<int64_t>(0, -top); y < std::min(size.height, height - top); ++y) {
    std::memcpy(out + (y * size.width + x0) * channels,
                image.data<uint8_t>() + ((y + top) * width + left + x0) * channels,
                static_cast<size_t>((x1 - x0) * channels));
  }
  return result;
}

}  // namespace thalweg::data
