// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/metadata.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/json_keys.h"
#include "thalweg/data/cache.h"
#include "thalweg/data/views.h"

namespace thalweg::data {
namespace {

using nlohmann::json;

constexpr const char* kPreprocessing = "thalweg.preprocessing";
constexpr const char* kText = "thalweg.text";
constexpr const char* kFeatures = "thalweg.features";
constexpr const char* kColumns = "thalweg.columns";
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

std::vector<std::string> names_in(const json& list, const char* property) {
  TW_REQUIRE(list.is_array(), "metadata ", property, ": is no JSON list of names");
  std::vector<std::string> names;
  for (const json& name : list) {
    TW_REQUIRE(name.is_string(), "metadata ", property, ": holds something else than names");
    names.push_back(name.get<std::string>());
  }
  return names;
}

/// The property's JSON, null if there is none.
json read_json(const std::map<std::string, std::string>& properties, const char* name) {
  const auto found = properties.find(name);
  return found == properties.end() ? json() : json::parse(found->second, nullptr, false);
}

/// What all of them say; nothing if one says something else.
ModelMetadata common_metadata(const std::vector<DatasetPtr>& sources) {
  const ModelMetadata first = metadata_of(*sources.front());
  const auto properties = to_properties(first);
  const bool same = std::all_of(sources.begin() + 1, sources.end(), [&](const DatasetPtr& source) {
    return to_properties(metadata_of(*source)) == properties;
  });
  return same ? first : ModelMetadata();
}

}  // namespace

ModelMetadata metadata_of(const Dataset& samples) {
  if (const auto* images = dynamic_cast<const ImageFolder*>(&samples)) {
    return {.preprocessing = images->pipeline(), .class_names = images->classes()};
  }
  if (const auto* lines = dynamic_cast<const TextLines*>(&samples)) {
    return {.text = lines->preprocessing(), .class_names = lines->classes()};
  }
  if (const auto* cached = dynamic_cast<const Cached*>(&samples)) return metadata_of(*cached->source());
  if (const auto* view = dynamic_cast<const View*>(&samples)) return common_metadata(view->sources());
  return {};
}

std::map<std::string, std::string> to_properties(const ModelMetadata& metadata) {
  std::map<std::string, std::string> properties;
  if (metadata.preprocessing.has_value()) {
    properties[kPreprocessing] = metadata.preprocessing->for_prediction().to_json();
  }
  if (metadata.text.has_value()) properties[kText] = metadata.text->to_json();
  if (metadata.features.has_value()) properties[kFeatures] = metadata.features->to_json();
  if (!metadata.columns.empty()) properties[kColumns] = dump_json("columns", metadata.columns);
  if (!metadata.class_names.empty()) properties[kClassNames] = dump_json("class names", metadata.class_names);
  return properties;
}

ModelMetadata metadata_from(const std::map<std::string, std::string>& properties) {
  ModelMetadata metadata;
  metadata.preprocessing = read_property<Pipeline>(properties, kPreprocessing);
  // Not every writer has left chance out.
  if (metadata.preprocessing.has_value()) metadata.preprocessing = metadata.preprocessing->for_prediction();
  metadata.text = read_property<TextPreprocessing>(properties, kText);
  metadata.features = read_property<Features>(properties, kFeatures);
  if (const json inputs = read_json(properties, kColumns); !inputs.is_null()) {
    TW_REQUIRE(inputs.is_array(), "metadata ", kColumns, ": is no JSON list of lists of names");
    for (const json& names : inputs) metadata.columns.push_back(names_in(names, kColumns));
  }
  if (const json names = read_json(properties, kClassNames); !names.is_null()) {
    metadata.class_names = names_in(names, kClassNames);
  }
  return metadata;
}

}  // namespace thalweg::data
