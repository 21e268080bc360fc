// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ops/conv_geometry.h"

namespace thalweg {

/// A convolution of plain images of one or two dimensions that is computed in bands of rows: the rows of the image that
/// a band needs are copied with their padding, and each tap reads from the copy.
class ConvBands {
 public:
  /// `by_phase`: pixels that are a stride apart lie side by side in the copy. `slack`: floats behind each row.
  ConvBands(const ConvGeometry& geometry, bool by_phase, int64_t slack);

  int64_t band_rows() const { return band_rows_; }
  int64_t bands_of_image() const { return bands_of_image_; }
  /// Of a copy for one band.
  int64_t copy_floats() const { return copy_floats_; }
  /// Floats from the source of a row of the output to that of the next.
  int64_t row_step() const { return stride_y_ * channels_ * row_floats_; }
  /// Floats from the source of a channel to that of the next.
  int64_t channel_step() const { return row_floats_; }
  int64_t out_height() const { return out_height_; }
  int64_t out_width() const { return out_width_; }
  /// Where each tap reads, from a row's source on: by channel, then row, then column, as plain weights lie; or with
  /// channels innermost. Where channels do not see each other, those of one channel.
  std::vector<int64_t> offsets(bool channels_innermost) const;

  /// Copies what `rows` rows of the output of one image need, from row `first` on.
  void copy(const float* image, int64_t first, int64_t rows, float* to) const;

 private:
  int64_t source_rows(int64_t rows) const { return (rows - 1) * stride_y_ + (kernel_y_ - 1) * dilation_y_ + 1; }
  /// Where a float of a padded row lies in the copy.
  int64_t place(int64_t column) const { return column % phases_ * phase_floats_ + column / phases_; }
  void copy_row(const float* from, float* to) const;

  int64_t channels_ = 0, seen_channels_ = 0, height_ = 1, width_ = 0, out_height_ = 1, out_width_ = 0;
  int64_t kernel_y_ = 1, kernel_x_ = 1, stride_y_ = 1, stride_x_ = 1, dilation_y_ = 1, dilation_x_ = 1;
  int64_t pad_y_ = 0, pad_x_ = 0;
  int64_t phases_ = 1, phase_floats_ = 0;
  int64_t source_width_ = 0, row_floats_ = 0, copy_floats_ = 0;
  int64_t band_rows_ = 0, bands_of_image_ = 0;
};

}  // namespace thalweg
