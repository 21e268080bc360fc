// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "thalweg/tensor.h"

namespace thalweg::data {

/// out = pixel * scale[c] + offset[c] for each channel c of a u8 image [height, width, channels].
void pixels_to_planes(const Tensor& image, std::span<const float> scale, std::span<const float> offset, float* out);
void pixels_to_interleaved(const Tensor& image, std::span<const float> scale, std::span<const float> offset,
                           float* out);
/// The pixels themselves, one plane for each channel.
void pixels_to_planes(const Tensor& image, uint8_t* out);

}  // namespace thalweg::data
