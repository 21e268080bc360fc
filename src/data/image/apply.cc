// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/image/apply.h"

#include <algorithm>
#include <cmath>

#include "data/image/color.h"
#include "data/image/edit.h"

namespace thalweg::data {
namespace {

Area whole(ImageSize size) { return {0, 0, static_cast<double>(size.width), static_cast<double>(size.height)}; }

/// A whole number in [0, last].
int64_t place(Random& random, int64_t last) {
  return static_cast<int64_t>(random.below(static_cast<uint64_t>(last) + 1));
}

void apply(const Resize& t, ImageSample& sample, Random& /*random*/) {
  ImageEdit(sample).resample_area(whole(sample.size()), {t.height, t.width}, t.interpolation);
}

void apply(const ResizeShorter& t, ImageSample& sample, Random& /*random*/) {
  const auto [height, width] = sample.size();
  int64_t shorter = t.shorter;
  int64_t longer = shorter * std::max(height, width) / std::min(height, width);
  if (t.max_longer > 0 && longer > t.max_longer) {
    longer = t.max_longer;
    shorter = std::max<int64_t>(1, longer * std::min(height, width) / std::max(height, width));
  }
  const ImageSize size = height < width ? ImageSize{shorter, longer} : ImageSize{longer, shorter};
  ImageEdit(sample).resample_area(whole(sample.size()), size, t.interpolation);
}

void apply(const CenterCrop& t, ImageSample& sample, Random& /*random*/) {
  const auto [height, width] = sample.size();
  // Halves are rounded to even, as torchvision does.
  const auto start = [](int64_t all, int64_t part) {
    return static_cast<int64_t>(std::nearbyint(static_cast<double>(all - part) / 2.0));
  };
  ImageEdit(sample).crop(start(width, t.width), start(height, t.height), {t.height, t.width});
}

void apply(const RandomCrop& t, ImageSample& sample, Random& random) {
  const auto [height, width] = sample.size();
  const auto start = [&](int64_t all, int64_t part) {
    const int64_t padding = std::max(t.padding, (part - all + 1) / 2);
    return place(random, all + 2 * padding - part) - padding;
  };
  const int64_t top = start(height, t.height);
  const int64_t left = start(width, t.width);
  ImageEdit(sample).crop(left, top, {t.height, t.width});
}

/// The largest area in the middle whose ratio of width to height is allowed.
Area middle(ImageSize size, const std::array<double, 2>& ratio) {
  const auto height = static_cast<double>(size.height);
  const auto width = static_cast<double>(size.width);
  Area area = whole(size);
  if (width / height < ratio[0]) area.height = std::max(1.0, std::round(width / ratio[0]));
  if (width / height > ratio[1]) area.width = std::max(1.0, std::round(height * ratio[1]));
  area.x = std::floor((width - area.width) / 2.0);
  area.y = std::floor((height - area.height) / 2.0);
  return area;
}

Area random_area(const RandomResizedCrop& t, ImageSize size, Random& random) {
  constexpr int kAttempts = 10;
  const auto pixels = static_cast<double>(size.height * size.width);
  for (int i = 0; i < kAttempts; ++i) {
    const double area = pixels * random.uniform(t.area[0], t.area[1]);
    const double ratio = std::exp(random.uniform(std::log(t.ratio[0]), std::log(t.ratio[1])));
    const auto width = std::llround(std::sqrt(area * ratio));
    const auto height = std::llround(std::sqrt(area / ratio));
    if (width < 1 || height < 1 || width > size.width || height > size.height) continue;
    const int64_t top = place(random, size.height - height);
    const int64_t left = place(random, size.width - width);
    return {static_cast<double>(left), static_cast<double>(top), static_cast<double>(width),
            static_cast<double>(height)};
  }
  return middle(size, t.ratio);
}

void apply(const RandomResizedCrop& t, ImageSample& sample, Random& random) {
  ImageEdit(sample).resample_area(random_area(t, sample.size(), random), {t.height, t.width}, t.interpolation);
}

void apply(const HorizontalFlip& t, ImageSample& sample, Random& random) {
  if (random.chance(t.probability)) ImageEdit(sample).flip_horizontally();
}

void apply(const VerticalFlip& t, ImageSample& sample, Random& random) {
  if (random.chance(t.probability)) ImageEdit(sample).flip_vertically();
}

void apply(const ColorJitter& t, ImageSample& sample, Random& random) {
  const auto factor = [&](double strength) { return random.uniform(std::max(0.0, 1.0 - strength), 1.0 + strength); };
  std::array<int, 4> order = {0, 1, 2, 3};
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  for (const int kind : order) {
    const Tensor& pixels = sample.pixels();
    if (kind == 0 && t.brightness > 0) {
      ImageEdit(sample).replace_pixels(adjust_brightness(pixels, factor(t.brightness)));
    } else if (kind == 1 && t.contrast > 0) {
      ImageEdit(sample).replace_pixels(adjust_contrast(pixels, factor(t.contrast)));
    } else if (kind == 2 && t.saturation > 0) {
      ImageEdit(sample).replace_pixels(adjust_saturation(pixels, factor(t.saturation)));
    } else if (kind == 3 && t.hue > 0) {
      ImageEdit(sample).replace_pixels(adjust_hue(pixels, random.uniform(-t.hue, t.hue)));
    }
  }
}

void apply(const Lighting& t, ImageSample& sample, Random& random) {
  // Principal components of ImageNet's pixels in [0, 1]: deviation along each, and its direction in RGB.
  constexpr std::array<double, 3> kDeviations = {0.2175, 0.0188, 0.0045};
  constexpr double kDirections[3][3] = {
      {-0.5675, 0.7192, 0.4009}, {-0.5808, -0.0045, -0.8140}, {-0.5836, -0.6948, 0.4203}};
  std::array<double, 3> color = {0, 0, 0};
  for (size_t k = 0; k < 3; ++k) {
    const double amount = 255.0 * t.deviation * random.normal() * kDeviations[k];
    for (size_t c = 0; c < 3; ++c) color[c] += amount * kDirections[c][k];
  }
  ImageEdit(sample).replace_pixels(add_color(sample.pixels(), color));
}

void apply(const Expand& t, ImageSample& sample, Random& random) {
  if (!random.chance(t.probability)) return;
  const auto [height, width] = sample.size();
  const double ratio = random.uniform(1.0, t.max_ratio);
  const ImageSize canvas{static_cast<int64_t>(static_cast<double>(height) * ratio),
                         static_cast<int64_t>(static_cast<double>(width) * ratio)};
  const int64_t top = place(random, canvas.height - height);
  const int64_t left = place(random, canvas.width - width);
  std::vector<uint8_t> fill;
  for (const double value : t.fill) fill.push_back(static_cast<uint8_t>(std::clamp(std::round(value), 0.0, 255.0)));
  if (sample.pixels().shape()[2] == 1) fill = {fill[1]};
  ImageEdit(sample).crop(-left, -top, canvas, fill);
}

double overlap(const Box& a, const Area& b) {
  const double width = std::min(a.x1, b.x + b.width) - std::max(a.x0, b.x);
  const double height = std::min(a.y1, b.y + b.height) - std::max(a.y0, b.y);
  if (width <= 0 || height <= 0) return 0.0;
  const double shared = width * height;
  return shared / ((a.x1 - a.x0) * (a.y1 - a.y0) + b.width * b.height - shared);
}

/// Boxes whose centre lies in the area.
std::vector<bool> centers_inside(const std::vector<Box>& boxes, const Area& area) {
  std::vector<bool> inside;
  for (const Box& box : boxes) {
    const double x = (box.x0 + box.x1) / 2.0;
    const double y = (box.y0 + box.y1) / 2.0;
    inside.push_back(x > area.x && x < area.x + area.width && y > area.y && y < area.y + area.height);
  }
  return inside;
}

void apply(const RandomBoxCrop& t, ImageSample& sample, Random& random) {
  const double bound = t.min_overlap[random.below(t.min_overlap.size())];
  if (bound == 0.0 || sample.boxes.empty()) return;
  const auto [height, width] = sample.size();
  for (int64_t i = 0; i < t.attempts; ++i) {
    const auto side = [&](int64_t all) {
      return std::max<int64_t>(1, std::llround(static_cast<double>(all) * random.uniform(t.side[0], t.side[1])));
    };
    const ImageSize size{side(height), side(width)};
    const double ratio = static_cast<double>(size.width) / static_cast<double>(size.height);
    if (ratio < t.ratio[0] || ratio > t.ratio[1]) continue;
    const int64_t top = place(random, height - size.height);
    const int64_t left = place(random, width - size.width);
    const Area area{static_cast<double>(left), static_cast<double>(top), static_cast<double>(size.width),
                    static_cast<double>(size.height)};
    const std::vector<bool> inside = centers_inside(sample.boxes, area);
    const bool enough = std::any_of(sample.boxes.begin(), sample.boxes.end(),
                                    [&](const Box& box) { return overlap(box, area) >= bound; });
    if (!enough || std::none_of(inside.begin(), inside.end(), [](bool in) { return in; })) continue;
    ImageEdit edit(sample);
    edit.keep_boxes(inside);
    edit.crop(left, top, size);
    return;
  }
}

}  // namespace

void apply(const Transform& transform, ImageSample& sample, Random& random) {
  std::visit([&](const auto& t) { apply(t, sample, random); }, transform);
}

std::optional<ImageSize> size_after(const Transform& transform, std::optional<ImageSize> before) {
  const auto size = [&](const auto& t) -> std::optional<ImageSize> {
    if constexpr (requires { t.height; }) return ImageSize{t.height, t.width};
    using T = std::decay_t<decltype(t)>;
    if constexpr (std::is_same_v<T, ResizeShorter> || std::is_same_v<T, Expand> || std::is_same_v<T, RandomBoxCrop>) {
      return std::nullopt;
    }
    return before;
  };
  return std::visit(size, transform);
}

}  // namespace thalweg::data
