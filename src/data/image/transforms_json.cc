// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/image/transforms_json.h"

#include "base/text.h"
#include "data/image/apply.h"
#include "data/json_keys.h"

namespace thalweg::data {

using Json = nlohmann::json;

NLOHMANN_JSON_SERIALIZE_ENUM(Interpolation, {{Interpolation::kBilinear, "bilinear"},
                                             {Interpolation::kNearest, "nearest"},
                                             {Interpolation::kBicubic, "bicubic"},
                                             {Interpolation::kArea, "area"}})
NLOHMANN_JSON_SERIALIZE_ENUM(ImageLayout, {{ImageLayout::kNchw, "nchw"}, {ImageLayout::kNhwc, "nhwc"}})

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Resize, height, width, interpolation)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ResizeShorter, shorter, max_longer, interpolation)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(CenterCrop, height, width)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(RandomCrop, height, width, padding)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(RandomResizedCrop, height, width, area, ratio, interpolation)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(HorizontalFlip, probability)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(VerticalFlip, probability)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ColorJitter, brightness, contrast, saturation, hue)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Lighting, deviation)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Expand, max_ratio, probability, fill)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(RandomBoxCrop, min_overlap, side, ratio, attempts)

namespace {

/// One for each alternative of Transform, in its order.
constexpr std::array<const char*, std::variant_size_v<Transform>> kNames = {
    "resize",        "resize_shorter", "center_crop", "random_crop", "random_resized_crop", "horizontal_flip",
    "vertical_flip", "color_jitter",   "lighting",    "expand",      "random_box_crop"};

using Factory = Transform (*)();
template <size_t... kIndices>
constexpr std::array<Factory, sizeof...(kIndices)> factories(std::index_sequence<kIndices...> /*all*/) {
  return {[] { return Transform(std::in_place_index<kIndices>); }...};
}

/// A transform of the kind that is called `name`, with its defaults.
Transform default_of(const std::string& name) {
  constexpr auto kFactories = factories(std::make_index_sequence<std::variant_size_v<Transform>>());
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames[i]) return kFactories[i]();
  }
  raise("there is no transform '", name, "'; near: ", nearest_names(name, {kNames.begin(), kNames.end()}));
}

}  // namespace

const char* name_of(const Transform& transform) { return kNames[transform.index()]; }

Json to_json(const Transform& transform) {
  Json json = std::visit([](const auto& t) { return Json(t); }, transform);
  json["name"] = name_of(transform);
  return json;
}

Transform transform_from_json(const Json& json) {
  const auto name = json.at("name").get<std::string>();
  Transform transform = default_of(name);
  try {
    std::visit([&](auto& t) { t = json.get<std::decay_t<decltype(t)>>(); }, transform);
  } catch (const Json::exception& error) {
    raise(name, ": ", error.what());
  }
  check_keys(name, json, to_json(transform));
  return transform;
}

Json to_json(const Normalize& output) {
  return {{"mean", output.mean},
          {"deviation", output.deviation},
          {"layout", output.layout},
          {"dtype", thalweg::name_of(output.dtype)}};
}

Normalize normalize_from_json(const Json& json) {
  Normalize result;
  result.mean = json.value("mean", result.mean);
  result.deviation = json.value("deviation", result.deviation);
  result.layout = json.value("layout", result.layout);
  result.dtype = dtype_from_name(json.value("dtype", std::string(thalweg::name_of(result.dtype))));
  check_keys("output", json, to_json(result));
  return result;
}

}  // namespace thalweg::data
