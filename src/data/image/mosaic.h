// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "data/random.h"
#include "thalweg/data/transforms.h"

namespace thalweg::data {

/// Parts of four pictures around a point near the middle of one of this size, with the boxes and masks whose centre is
/// in a part. Either all of them or none have masks if they have boxes.
ImageSample mosaic(std::array<ImageSample, 4>& pictures, ImageSize size, Random& random);

}  // namespace thalweg::data
