// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>

#include "ops/conv_geometry.h"

namespace thalweg {

/// One number for each of three spatial dimensions.
using Triple = std::array<int64_t, 3>;

/// Aligned at the innermost dimension, so that 1-D and 2-D are special cases of 3-D.
inline Triple triple(const std::vector<int64_t>& values, int64_t fill) {
  Triple result{fill, fill, fill};
  std::copy(values.begin(), values.end(), result.end() - static_cast<int64_t>(values.size()));
  return result;
}

struct Taps {
  Triple in, out, kernel, stride, begin, dilation;

  explicit Taps(const ConvGeometry& conv)
      : in(triple(spatial_dims(conv.x), 1)),
        out(triple(spatial_dims(conv.y), 1)),
        kernel(triple(conv.window.kernel, 1)),
        stride(triple(conv.window.strides, 1)),
        begin(triple(conv.window.begins, 0)),
        dilation(triple(conv.window.dilations, 1)) {}

  /// Calls body(x offset, y offset) within one channel for every place where kernel element `k` meets the input.
  template <typename Body>
  void for_each(const Triple& k, Body body) const {
    const auto source = [&](size_t d, int64_t o) { return o * stride[d] - begin[d] + k[d] * dilation[d]; };
    const auto inside = [&](size_t d, int64_t i) { return i >= 0 && i < in[d]; };
    for (int64_t a = 0; a < out[0]; ++a) {
      if (!inside(0, source(0, a))) continue;
      for (int64_t b = 0; b < out[1]; ++b) {
        if (!inside(1, source(1, b))) continue;
        const int64_t x_row = (source(0, a) * in[1] + source(1, b)) * in[2];
        const int64_t y_row = (a * out[1] + b) * out[2];
        for (int64_t c = 0; c < out[2]; ++c) {
          if (inside(2, source(2, c))) body(x_row + source(2, c), y_row + c);
        }
      }
    }
  }
};

/// Calls body(x offset, w offset, y offset) for every product of the convolution.
template <typename Body>
void for_each_product(const ConvGeometry& conv, Body body) {
  const Taps taps(conv);
  const int64_t x_plane = conv.x.num_elements(2, conv.x.rank());
  const int64_t y_plane = conv.y.num_elements(2, conv.y.rank());
  const int64_t outputs = conv.y[1] / conv.groups;
  const int64_t inputs = conv.w[1];
  for (int64_t n = 0; n < conv.x[0]; ++n) {
    for (int64_t o = 0; o < conv.y[1]; ++o) {
      const int64_t y_base = (n * conv.y[1] + o) * y_plane;
      int64_t w = o * inputs * conv.w.num_elements(2, conv.w.rank());
      for (int64_t i = 0; i < inputs; ++i) {
        const int64_t x_base = (n * conv.x[1] + o / outputs * inputs + i) * x_plane;
        for (int64_t a = 0; a < taps.kernel[0]; ++a) {
          for (int64_t b = 0; b < taps.kernel[1]; ++b) {
            for (int64_t c = 0; c < taps.kernel[2]; ++c, ++w) {
              taps.for_each({a, b, c}, [&](int64_t x, int64_t y) { body(x_base + x, w, y_base + y); });
            }
          }
        }
      }
    }
  }
}

}  // namespace thalweg
