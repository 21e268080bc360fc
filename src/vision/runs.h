// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "thalweg/vision/rle.h"

namespace thalweg::vision {

/// Throws Error unless masks may have this size.
void require_mask_size(int64_t height, int64_t width);

/// The mask whose pixels begin and cease to be inside at these places, which rise; none is beyond the last pixel.
Rle rle_of_runs(int64_t height, int64_t width, std::span<const uint32_t> edges);

/// Pixels that two masks of one size share, from their runs_inside().
int64_t shared_pixels(std::span<const uint32_t> a, std::span<const uint32_t> b);

}  // namespace thalweg::vision
