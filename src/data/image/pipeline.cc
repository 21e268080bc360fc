// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>

#include "base/text.h"
#include "data/image/apply.h"
#include "data/image/pixels_to_elements.h"
#include "data/image/transforms_json.h"

namespace thalweg::data {
namespace {

using Json = nlohmann::json;

bool is_probability(double value) { return value >= 0.0 && value <= 1.0; }
bool is_range(const std::array<double, 2>& range, double low, double high) {
  return range[0] > low && range[0] <= range[1] && range[1] <= high;
}
/// What is wrong with a transform's parameters, or null.
struct Complaint {
  const char* operator()(const ResizeShorter& t) const {
    if (t.shorter < 1 || t.shorter > kMostPixelsAside) return "shorter is no length";
    return t.max_longer < 0 ? "max_longer must not be negative" : nullptr;
  }
  const char* operator()(const RandomCrop& t) const {
    return t.padding < 0 || t.padding > kMostPixelsAside ? "padding is no length" : nullptr;
  }
  const char* operator()(const RandomResizedCrop& t) const {
    if (!is_range(t.area, 0.0, 1.0)) return "area must be two shares in (0, 1], the smaller first";
    return is_range(t.ratio, 0.0, 1e6) ? nullptr : "ratio must be two positive numbers, the smaller first";
  }
  const char* operator()(const ColorJitter& t) const {
    const bool strengths = t.brightness >= 0 && t.contrast >= 0 && t.saturation >= 0;
    if (!strengths) return "strengths must not be negative";
    return t.hue >= 0 && t.hue <= 0.5 ? nullptr : "hue must be in [0, 0.5]";
  }
  const char* operator()(const Expand& t) const {
    return t.max_ratio >= 1.0 && t.max_ratio <= 100.0 ? nullptr : "max_ratio must be in [1, 100]";
  }
  const char* operator()(const RandomBoxCrop& t) const {
    if (t.min_overlap.empty()) return "min_overlap is empty";
    if (!is_range(t.side, 0.0, 1.0)) return "side must be two shares in (0, 1], the smaller first";
    return is_range(t.ratio, 0.0, 1e6) ? nullptr : "ratio must be two positive numbers, the smaller first";
  }
  template <typename T>
  const char* operator()(const T& /*other*/) const {
    return nullptr;
  }
};

}  // namespace

void check_parameters(const Transform& transform) {
  const auto common = [](const auto& t) -> const char* {
    if constexpr (requires { t.height; }) {
      const bool good = t.height > 0 && t.width > 0 && t.height <= kMostPixelsAside && t.width <= kMostPixelsAside;
      if (!good) return "height and width must be lengths";
    }
    if constexpr (requires { t.probability; }) {
      if (!is_probability(t.probability)) return "probability must be in [0, 1]";
    }
    return Complaint()(t);
  };
  const char* complaint = std::visit(common, transform);
  TW_REQUIRE(complaint == nullptr, name_of(transform), ": ", complaint);
}

Pipeline::Pipeline(std::vector<Transform> transforms, Normalize output)
    : transforms_(std::move(transforms)), output_(std::move(output)) {
  for (const Transform& transform : transforms_) check_parameters(transform);
  TW_REQUIRE(output_.dtype == DType::kF32 || output_.dtype == DType::kU8, "output: images become f32 or u8, not ",
             thalweg::name_of(output_.dtype));
  for (const double deviation : output_.deviation) {
    TW_REQUIRE(deviation > 0, "output: a deviation of ", deviation, " is not positive");
  }
}

void Pipeline::transform(ImageSample& sample, const Draw& draw, int64_t index) const {
  for (size_t i = 0; i < transforms_.size(); ++i) {
    // A stream for each transform: one more draw in the first does not change what the second does.
    Random random(draw.seed + i, static_cast<uint64_t>(draw.epoch), static_cast<uint64_t>(index));
    try {
      apply(transforms_[i], sample, random);
    } catch (const Error& error) {
      const std::string text = error.what();
      if (sample.name().empty() || text.starts_with(sample.name())) throw;
      raise(sample.name(), ": ", name_of(transforms_[i]), ": ", text);
    }
  }
}

namespace {

struct Scaling {
  std::vector<float> scale, offset;
};

Scaling scaling_of(const Normalize& output, int64_t channels) {
  const auto value = [&](const std::vector<double>& values, int64_t channel, const char* what) {
    TW_REQUIRE(values.size() == 1 || static_cast<int64_t>(values.size()) == channels, "output: ", values.size(), ' ',
               what, "s for ", channels, " channels");
    return values[values.size() == 1 ? 0 : static_cast<size_t>(channel)];
  };
  Scaling result;
  for (int64_t c = 0; c < channels; ++c) {
    const double deviation = value(output.deviation, c, "deviation");
    result.scale.push_back(static_cast<float>(1.0 / (255.0 * deviation)));
    result.offset.push_back(static_cast<float>(-value(output.mean, c, "mean") / deviation));
  }
  return result;
}

}  // namespace

void Pipeline::run(ImageSample& sample, const Draw& draw, int64_t index, void* target) const {
  transform(sample, draw, index);
  const Tensor& pixels = sample.pixels();
  const bool planes = output_.layout == ImageLayout::kNchw;
  if (output_.dtype == DType::kU8) {
    if (planes) {
      pixels_to_planes(pixels, static_cast<uint8_t*>(target));
    } else {
      std::memcpy(target, pixels.raw(), pixels.num_bytes());
    }
    return;
  }
  const Scaling scaling = scaling_of(output_, pixels.shape()[2]);
  const auto convert = planes ? static_cast<decltype(&pixels_to_interleaved)>(pixels_to_planes) : pixels_to_interleaved;
  convert(pixels, scaling.scale, scaling.offset, static_cast<float*>(target));
}

TensorType Pipeline::output_type(int64_t channels) const {
  std::optional<ImageSize> size;
  for (const Transform& transform : transforms_) size = size_after(transform, size);
  TW_REQUIRE(size.has_value(), "images leave the pipeline in sizes of their own; a batch needs one size: end it with ",
             "resize, center_crop, random_crop or random_resized_crop");
  if (output_.dtype == DType::kF32) scaling_of(output_, channels);  // throws if the numbers do not fit
  if (output_.layout == ImageLayout::kNchw) return {output_.dtype, {channels, size->height, size->width}};
  return {output_.dtype, {size->height, size->width, channels}};
}

std::string Pipeline::to_json() const {
  Json list = Json::array();
  for (const Transform& transform : transforms_) list.push_back(data::to_json(transform));
  return Json{{"transforms", list}, {"output", data::to_json(output_)}}.dump();
}

Pipeline Pipeline::from_json(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    for (const auto& [key, value] : json.items()) {
      TW_REQUIRE(key == "transforms" || key == "output", "unknown key '", key,
                 "'; near: ", nearest_names(key, {"transforms", "output"}));
    }
    std::vector<Transform> transforms;
    for (const Json& item : json.value("transforms", Json::array())) transforms.push_back(transform_from_json(item));
    return {std::move(transforms), normalize_from_json(json.value("output", Json::object()))};
  } catch (const Json::exception& error) {
    raise("image pipeline: ", error.what());
  } catch (const Error& error) {
    raise("image pipeline: ", error.what());
  }
}

}  // namespace thalweg::data
