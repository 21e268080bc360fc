// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/image/codec.h"
#include "thalweg/data/transforms.h"

namespace thalweg::data {

/// `area` of a u8 image [height, width, channels], scaled to `size`: first along rows, then along columns, rounded to
/// u8 in between, as Pillow does it. Pixels outside of the area have no influence.
Tensor resample(const Tensor& image, const Area& area, ImageSize size, Interpolation interpolation);

/// Whole pixels of an image; what lies outside of it becomes `fill` (one value for each channel, or one for all).
Tensor crop(const Tensor& image, int64_t left, int64_t top, ImageSize size, const std::vector<uint8_t>& fill = {0});

}  // namespace thalweg::data
