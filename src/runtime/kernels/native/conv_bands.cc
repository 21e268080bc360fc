// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/native/conv_bands.h"

#include <algorithm>

namespace thalweg {
namespace {

/// Rows of an image that are copied at a time should stay in a second-level cache.
constexpr int64_t kSourceBytes = int64_t{160} << 10;

}  // namespace

ConvBands::ConvBands(const ConvGeometry& geometry, bool by_phase, int64_t slack) {
  const Window& window = geometry.window;
  const size_t last = geometry.rank() - 1;
  channels_ = geometry.x[1];
  seen_channels_ = geometry.w[1];
  width_ = geometry.x[-1];
  out_width_ = geometry.y[-1];
  kernel_x_ = window.kernel[last];
  stride_x_ = window.strides[last];
  dilation_x_ = window.dilations[last];
  pad_x_ = window.begins[last];
  if (last == 1) {
    height_ = geometry.x[2];
    out_height_ = geometry.y[2];
    kernel_y_ = window.kernel[0];
    stride_y_ = window.strides[0];
    dilation_y_ = window.dilations[0];
    pad_y_ = window.begins[0];
  }
  source_width_ = (out_width_ - 1) * stride_x_ + (kernel_x_ - 1) * dilation_x_ + 1;
  phases_ = by_phase ? stride_x_ : 1;
  phase_floats_ = (source_width_ + phases_ - 1) / phases_;
  row_floats_ = phases_ * phase_floats_ + slack;
  const int64_t row_bytes = channels_ * row_floats_ * static_cast<int64_t>(sizeof(float));
  band_rows_ = std::clamp<int64_t>((kSourceBytes / row_bytes - source_rows(1)) / stride_y_ + 1, 1, out_height_);
  bands_of_image_ = (out_height_ + band_rows_ - 1) / band_rows_;
  copy_floats_ = source_rows(band_rows_) * channels_ * row_floats_;
}

std::vector<int64_t> ConvBands::offsets(bool channels_innermost) const {
  std::vector<int64_t> result;
  const auto add = [&](int64_t channel, int64_t y, int64_t x) {
    result.push_back((y * dilation_y_ * channels_ + channel) * row_floats_ + place(x * dilation_x_));
  };
  for (int64_t outer = 0; outer < (channels_innermost ? 1 : seen_channels_); ++outer) {
    for (int64_t y = 0; y < kernel_y_; ++y) {
      for (int64_t x = 0; x < kernel_x_; ++x) {
        for (int64_t inner = 0; inner < (channels_innermost ? seen_channels_ : 1); ++inner) add(outer + inner, y, x);
      }
    }
  }
  return result;
}

void ConvBands::copy_row(const float* from, float* to) const {
  const int64_t left = std::min(pad_x_, source_width_);
  const int64_t inside = std::min(width_, source_width_ - left);
  if (phases_ == 1) {
    std::fill_n(to, left, 0.0F);
    std::copy_n(from, inside, to + left);
    std::fill(to + left + inside, to + row_floats_, 0.0F);
    return;
  }
  std::fill_n(to, row_floats_, 0.0F);
  for (int64_t phase = 0; phase < phases_; ++phase) {
    // The first column of this phase that lies inside.
    const int64_t first = left + (phase - left % phases_ + phases_) % phases_;
    float* line = to + place(first);
    for (int64_t column = first; column < left + inside; column += phases_) *line++ = from[column - left];
  }
}

void ConvBands::copy(const float* image, int64_t first, int64_t rows, float* to) const {
  const int64_t begin = first * stride_y_ - pad_y_;
  for (int64_t row = begin; row < begin + source_rows(rows); ++row) {
    for (int64_t channel = 0; channel < channels_; ++channel, to += row_floats_) {
      if (row < 0 || row >= height_) {
        std::fill_n(to, row_floats_, 0.0F);
      } else {
        copy_row(image + (channel * height_ + row) * width_, to);
      }
    }
  }
}

}  // namespace thalweg
