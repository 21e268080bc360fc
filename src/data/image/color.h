// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "thalweg/tensor.h"

namespace thalweg::data {

/// Each makes a new image of a u8 image [height, width, channels]. A factor of 1 changes nothing; 0 gives black, an
/// even grey of the mean, and the grey image. Values are as Pillow's ImageEnhance gives them.
Tensor adjust_brightness(const Tensor& image, double factor);
Tensor adjust_contrast(const Tensor& image, double factor);
/// Grey images stay as they are.
Tensor adjust_saturation(const Tensor& image, double factor);
/// Turns the hue by a share of the whole circle. Grey images stay as they are.
Tensor adjust_hue(const Tensor& image, double turn);
/// Adds one colour to all pixels, in units of pixel values. A grey image gets the mean of it.
Tensor add_color(const Tensor& image, const std::array<double, 3>& color);

}  // namespace thalweg::data
