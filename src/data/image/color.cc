// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/image/color.h"

#include <algorithm>
#include <cmath>

#include "data/image/codec.h"

namespace thalweg::data {
namespace {

uint8_t saturate(double value) { return static_cast<uint8_t>(std::clamp(value, 0.0, 255.0)); }
uint8_t saturate(float value) { return static_cast<uint8_t>(std::clamp(value, 0.0F, 255.0F)); }

using Table = std::array<uint8_t, 256>;

/// The same change for each value, whatever the channel.
Tensor map_values(const Tensor& image, const Table& table) {
  Tensor result(image.type());
  const uint8_t* in = image.data<uint8_t>();
  uint8_t* out = result.data<uint8_t>();
  for (int64_t i = 0; i < image.num_elements(); ++i) out[i] = table[in[i]];
  return result;
}

/// A line through (base, base) of slope `factor`.
Table away_from(float base, double factor) {
  const auto slope = static_cast<float>(factor);
  Table table{};
  for (size_t v = 0; v < table.size(); ++v) table[v] = saturate(base + slope * (static_cast<float>(v) - base));
  return table;
}

Tensor gray_of(const Tensor& image) {
  const Tensor gray = new_image({image.shape()[0], image.shape()[1]}, 1);
  for (int64_t y = 0; y < image.shape()[0]; ++y) {
    store_rgb_row(gray, y, image.data<uint8_t>() + y * image.shape()[1] * 3);
  }
  return gray;
}

using Rgb = std::array<float, 3>;

/// Keeps the largest and smallest channel of a colour and turns its hue, which runs over [0, 6).
Rgb turn_hue(const Rgb& color, float turn) {
  const float high = std::max({color[0], color[1], color[2]});
  const float low = std::min({color[0], color[1], color[2]});
  const float chroma = high - low;
  if (chroma == 0.0F) return color;
  float hue = 0.0F;
  if (high == color[0]) {
    hue = (color[1] - color[2]) / chroma;
  } else if (high == color[1]) {
    hue = 2.0F + (color[2] - color[0]) / chroma;
  } else {
    hue = 4.0F + (color[0] - color[1]) / chroma;
  }
  hue += 6.0F * turn;
  hue -= 6.0F * std::floor(hue / 6.0F);
  // Each channel rises to `high`, stays, falls to `low` and stays; the three are a third of the circle apart.
  const auto channel = [&](float offset) {
    float at = hue + offset;
    if (at >= 6.0F) at -= 6.0F;
    return high - chroma * std::clamp(std::min(at, 4.0F - at), 0.0F, 1.0F);
  };
  return {channel(5.0F), channel(3.0F), channel(1.0F)};
}

}  // namespace

Tensor adjust_brightness(const Tensor& image, double factor) { return map_values(image, away_from(0.0F, factor)); }

Tensor adjust_contrast(const Tensor& image, double factor) {
  const Tensor gray = image.shape()[2] == 3 ? gray_of(image) : image;
  int64_t sum = 0;
  for (int64_t i = 0; i < gray.num_elements(); ++i) sum += gray.data<uint8_t>()[i];
  const double mean = static_cast<double>(sum) / static_cast<double>(std::max<int64_t>(gray.num_elements(), 1));
  return map_values(image, away_from(static_cast<float>(std::floor(mean + 0.5)), factor));
}

Tensor adjust_saturation(const Tensor& image, double factor) {
  if (image.shape()[2] != 3) return image;
  const Tensor gray = gray_of(image);
  Tensor result(image.type());
  const uint8_t* in = image.data<uint8_t>();
  const uint8_t* base = gray.data<uint8_t>();
  uint8_t* out = result.data<uint8_t>();
  const auto slope = static_cast<float>(factor);
  for (int64_t i = 0; i < gray.num_elements(); ++i) {
    const auto level = static_cast<float>(base[i]);
    for (int64_t c = 0; c < 3; ++c) {
      out[3 * i + c] = saturate(level + slope * (static_cast<float>(in[3 * i + c]) - level));
    }
  }
  return result;
}

Tensor adjust_hue(const Tensor& image, double turn) {
  if (image.shape()[2] != 3) return image;
  Tensor result(image.type());
  const uint8_t* in = image.data<uint8_t>();
  uint8_t* out = result.data<uint8_t>();
  for (int64_t i = 0; i < image.num_elements(); i += 3) {
    const Rgb color = {static_cast<float>(in[i]), static_cast<float>(in[i + 1]), static_cast<float>(in[i + 2])};
    const Rgb turned = turn_hue(color, static_cast<float>(turn));
    for (size_t c = 0; c < 3; ++c) out[static_cast<size_t>(i) + c] = saturate(turned[c] + 0.5F);
  }
  return result;
}

Tensor add_color(const Tensor& image, const std::array<double, 3>& color) {
  const auto shifted = [](double by) {
    Table table{};
    for (size_t v = 0; v < table.size(); ++v) table[v] = saturate(std::floor(static_cast<double>(v) + by + 0.5));
    return table;
  };
  if (image.shape()[2] != 3) return map_values(image, shifted((color[0] + color[1] + color[2]) / 3.0));
  const std::array<Table, 3> tables = {shifted(color[0]), shifted(color[1]), shifted(color[2])};
  Tensor result(image.type());
  const uint8_t* in = image.data<uint8_t>();
  uint8_t* out = result.data<uint8_t>();
  for (int64_t i = 0; i < image.num_elements(); ++i) out[i] = tables[static_cast<size_t>(i % 3)][in[i]];
  return result;
}

}  // namespace thalweg::data
