// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/image/mosaic.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "data/image/codec.h"
#include "data/image/edit.h"

namespace thalweg::data {
namespace {

/// A rectangle of whole pixels of the canvas.
struct Quarter {
  int64_t left, top;
  ImageSize size;
};

/// Takes a part of the picture that has the quarter's ratio of sides, between half and all of what fits, and scales it.
void fill_quarter(ImageSample& picture, ImageSize size, Random& random) {
  constexpr double kLeastShare = 0.5;
  const auto height = static_cast<double>(picture.size().height);
  const auto width = static_cast<double>(picture.size().width);
  const double pixels_for_one =
      std::min(width / static_cast<double>(size.width), height / static_cast<double>(size.height)) *
      random.uniform(kLeastShare, 1.0);
  const auto side = [&](int64_t target, double all) {
    return std::clamp(std::round(static_cast<double>(target) * pixels_for_one), 1.0, all);
  };
  Area area{0, 0, side(size.width, width), side(size.height, height)};
  const auto place = [&](double free) {
    return static_cast<double>(random.below(static_cast<uint64_t>(std::max(0.0, std::floor(free))) + 1));
  };
  area.x = place(width - area.width);
  area.y = place(height - area.height);
  std::vector<bool> inside;
  for (const Box& box : picture.boxes) {
    const double x = (box.x0 + box.x1) / 2.0;
    const double y = (box.y0 + box.y1) / 2.0;
    inside.push_back(x > area.x && x < area.x + area.width && y > area.y && y < area.y + area.height);
  }
  ImageEdit edit(picture);
  edit.keep_boxes(inside);
  edit.resample_area(area, size, Interpolation::kBilinear);
}

void copy_pixels(const Tensor& from, const Tensor& canvas, const Quarter& quarter) {
  const int64_t channels = canvas.shape()[2];
  const auto length = static_cast<size_t>(quarter.size.width * channels);
  for (int64_t y = 0; y < quarter.size.height; ++y) {
    uint8_t* to = canvas.data<uint8_t>() + ((quarter.top + y) * canvas.shape()[1] + quarter.left) * channels;
    std::memcpy(to, from.data<uint8_t>() + static_cast<size_t>(y) * length, length);
  }
}

/// Masks of one quarter to their places in masks of the canvas, from number `first` on.
void copy_masks(const Tensor& from, const Tensor& masks, int64_t first, const Quarter& quarter) {
  const int64_t count = from.shape()[0];
  for (int64_t i = 0; i < count; ++i) {
    const Tensor canvas = masks.rows(first + i, first + i + 1).reshaped({masks.shape()[1], masks.shape()[2], 1});
    copy_pixels(from.rows(i, i + 1).reshaped({quarter.size.height, quarter.size.width, 1}), canvas, quarter);
  }
}

std::array<Quarter, 4> quarters_of(ImageSize size, Random& random) {
  constexpr double kNearest = 0.25;  // to a side, as a share of it
  const auto middle = [&](int64_t side) {
    return std::clamp<int64_t>(std::llround(static_cast<double>(side) * random.uniform(kNearest, 1.0 - kNearest)), 1,
                               side - 1);
  };
  const int64_t x = middle(size.width);
  const int64_t y = middle(size.height);
  return {{{0, 0, {y, x}},
           {x, 0, {y, size.width - x}},
           {0, y, {size.height - y, x}},
           {x, y, {size.height - y, size.width - x}}}};
}

}  // namespace

ImageSample mosaic(std::array<ImageSample, 4>& pictures, ImageSize size, Random& random) {
  const std::array<Quarter, 4> quarters = quarters_of(size, random);
  int64_t count = 0;
  bool has_masks = false;
  for (size_t i = 0; i < pictures.size(); ++i) {
    fill_quarter(pictures[i], quarters[i].size, random);
    count += static_cast<int64_t>(pictures[i].boxes.size());
    has_masks = has_masks || pictures[i].masks.defined();
  }
  const Tensor canvas = new_image(size, pictures[0].pixels().shape()[2]);
  ImageSample result(canvas, pictures[0].name());
  if (has_masks) result.masks = Tensor::zeros(DType::kU8, {count, size.height, size.width});
  for (size_t i = 0; i < pictures.size(); ++i) {
    copy_pixels(pictures[i].pixels(), canvas, quarters[i]);
    if (pictures[i].masks.defined()) {
      copy_masks(pictures[i].masks, result.masks, static_cast<int64_t>(result.boxes.size()), quarters[i]);
    }
    const auto left = static_cast<double>(quarters[i].left);
    const auto top = static_cast<double>(quarters[i].top);
    for (const Box& box : pictures[i].boxes) {
      result.boxes.push_back({box.x0 + left, box.y0 + top, box.x1 + left, box.y1 + top});
    }
    result.labels.insert(result.labels.end(), pictures[i].labels.begin(), pictures[i].labels.end());
  }
  return result;
}

}  // namespace thalweg::data
