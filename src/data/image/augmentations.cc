// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/augmentations.h"

namespace thalweg::data {
namespace {

std::vector<Transform> augmentation(const std::array<double, 3>& canvas, int64_t height, int64_t width) {
  constexpr double kBrightness = 32.0 / 255.0;
  constexpr double kHue = 18.0 / 360.0;
  // Below 0: every part overlaps by more.
  constexpr double kAnyPart = -1.0;
  return {ColorJitter{.brightness = kBrightness, .contrast = 0.5, .saturation = 0.5, .hue = kHue},
          Expand{.fill = canvas}, RandomBoxCrop{.min_overlap = {0.0, 0.1, 0.3, 0.5, 0.7, 0.9, kAnyPart}},
          HorizontalFlip{}, Resize{height, width}};
}

}  // namespace

std::vector<Transform> ssd_augmentation(int64_t height, int64_t width) {
  return augmentation({123.0, 117.0, 104.0}, height, width);
}

std::vector<Transform> yolact_augmentation(int64_t height, int64_t width) {
  return augmentation({123.68, 116.78, 103.94}, height, width);
}

}  // namespace thalweg::data
