// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/metadata.h"

#include <nlohmann/json.hpp>

namespace thalweg::data {
namespace {

using nlohmann::json;

constexpr const char* kPreprocessing = "thalweg.preprocessing";
constexpr const char* kFeatures = "thalweg.features";
constexpr const char* kClassNames = "thalweg.class_names";

/// The property, from JSON; nothing if there is none.
template <typename T>
std::optional<T> read_property(const std::map<std::string, std::string>& properties, const char* name) {
  const auto found = properties.find(name);
  if (found == properties.end()) return {};
  try {
    return T::from_json(found->second);
  } catch (const Error& error) {
    raise("metadata ", name, ": ", error.what());
  }
}

}  // namespace

std::map<std::string, std::string> to_properties(const ModelMetadata& metadata) {
  std::map<std::string, std::string> properties;
  if (metadata.preprocessing.has_value()) properties[kPreprocessing] = metadata.preprocessing->to_json();
  if (metadata.features.has_value()) properties[kFeatures] = metadata.features->to_json();
  if (!metadata.class_names.empty()) properties[kClassNames] = json(metadata.class_names).dump();
  return properties;
}

ModelMetadata metadata_from(const std::map<std::string, std::string>& properties) {
  ModelMetadata metadata;
  metadata.preprocessing = read_property<Pipeline>(properties, kPreprocessing);
  metadata.features = read_property<Features>(properties, kFeatures);
  const auto names = properties.find(kClassNames);
  if (names == properties.end()) return metadata;
  const json list = json::parse(names->second, nullptr, false);
  TW_REQUIRE(list.is_array(), "metadata ", kClassNames, ": is no JSON list of names");
  for (const json& name : list) {
    TW_REQUIRE(name.is_string(), "metadata ", kClassNames, ": holds something else than names");
    metadata.class_names.push_back(name.get<std::string>());
  }
  return metadata;
}

}  // namespace thalweg::data
