// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/image/pixels_to_elements.h"

#include <smmintrin.h>

namespace thalweg::data {
namespace {

/// Four RGB pixels (of which 16 bytes can be read) to four elements of each plane.
void four_pixels(const uint8_t* in, const float* scale, const float* offset, float* out, int64_t plane) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in));
  const __m128i first = _mm_setr_epi8(0, -1, -1, -1, 3, -1, -1, -1, 6, -1, -1, -1, 9, -1, -1, -1);
  for (int c = 0; c < 3; ++c) {
    const __m128i order =
        _mm_add_epi8(first, _mm_setr_epi8(static_cast<char>(c), 0, 0, 0, static_cast<char>(c), 0, 0, 0,
                                          static_cast<char>(c), 0, 0, 0, static_cast<char>(c), 0, 0, 0));
    const __m128 values = _mm_cvtepi32_ps(_mm_shuffle_epi8(bytes, order));
    _mm_storeu_ps(out + c * plane, _mm_add_ps(_mm_mul_ps(values, _mm_set1_ps(scale[c])), _mm_set1_ps(offset[c])));
  }
}

}  // namespace

void pixels_to_planes(const Tensor& image, std::span<const float> scale, std::span<const float> offset, float* out) {
  const int64_t channels = image.shape()[2];
  const int64_t plane = image.shape()[0] * image.shape()[1];
  const uint8_t* in = image.data<uint8_t>();
  int64_t i = 0;
  if (channels == 3) {
    for (; 3 * i + 16 <= 3 * plane; i += 4) four_pixels(in + 3 * i, scale.data(), offset.data(), out + i, plane);
  }
  for (; i < plane; ++i) {
    for (int64_t c = 0; c < channels; ++c) {
      const auto k = static_cast<size_t>(c);
      out[c * plane + i] = static_cast<float>(in[i * channels + c]) * scale[k] + offset[k];
    }
  }
}

void pixels_to_interleaved(const Tensor& image, std::span<const float> scale, std::span<const float> offset,
                           float* out) {
  const int64_t channels = image.shape()[2];
  const uint8_t* in = image.data<uint8_t>();
  for (int64_t i = 0; i < image.num_elements(); i += channels) {
    for (int64_t c = 0; c < channels; ++c) {
      const auto k = static_cast<size_t>(c);
      out[i + c] = static_cast<float>(in[i + c]) * scale[k] + offset[k];
    }
  }
}

void pixels_to_planes(const Tensor& image, uint8_t* out) {
  const int64_t channels = image.shape()[2];
  const int64_t plane = image.shape()[0] * image.shape()[1];
  const uint8_t* in = image.data<uint8_t>();
  for (int64_t i = 0; i < plane; ++i) {
    for (int64_t c = 0; c < channels; ++c) out[c * plane + i] = in[i * channels + c];
  }
}

}  // namespace thalweg::data
