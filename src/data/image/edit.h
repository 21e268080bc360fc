// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/image/codec.h"
#include "thalweg/data/transforms.h"

namespace thalweg::data {

/// Changes to a sample that keep its boxes and masks in step with its pixels. Boxes of which nothing is left are
/// dropped, with their labels and masks.
class ImageEdit {
 public:
  explicit ImageEdit(ImageSample& sample) : sample_(sample) {}

  /// `area` lies within the image, on whole pixels.
  void resample_area(const Area& area, ImageSize size, Interpolation interpolation);
  /// May reach beyond the image: what lies there becomes `fill`.
  void crop(int64_t left, int64_t top, ImageSize size, const std::vector<uint8_t>& fill = {0});
  void flip_horizontally();
  void flip_vertically();
  /// Of the same size.
  void replace_pixels(Tensor pixels) { sample_.pixels_ = std::move(pixels); }
  /// Drops boxes, with their labels and masks.
  void keep_boxes(const std::vector<bool>& keep);

 private:
  ImagePart part(const Area& area, ImageSize target);
  void require_allowed(ImageSize target) const;
  void move_boxes(const Area& area, ImageSize size);
  template <typename Change>
  void change_masks(ImageSize size, const Change& change);

  ImageSample& sample_;
};

}  // namespace thalweg::data
