// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "thalweg/data/transforms.h"

/// Lists of transforms that published models were trained with, for data/object_pictures.h.
namespace thalweg::data {

/// SSD's: changes of colour, a larger canvas, a part around objects, a flip, and this size, in which the ratio of the
/// sides is not kept. The part is the whole, one that overlaps some object by at least a bound, or any. Colours change
/// as ColorJitter changes them; the original adds a brightness where this multiplies by one.
std::vector<Transform> ssd_augmentation(int64_t height = 300, int64_t width = 300);

/// YOLACT's: the same on a canvas of its own mean colour. It leaves out objects below 4 / 550 of a side
/// (ObjectPicturesOptions::min_side).
std::vector<Transform> yolact_augmentation(int64_t height = 550, int64_t width = 550);

}  // namespace thalweg::data
