// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/features/json.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "data/features/kinds.h"
#include "data/json_keys.h"

namespace thalweg::data {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(StringIndex, column, categories, min_count, most)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(MinMaxScale, column, low, high)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(StandardScale, column, mean, deviation)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(HashBucket, column, buckets)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(CrossHash, columns, name, buckets)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(OneHot, column, size)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(QuantileBin, column, bins, edges)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Log, column)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Power, column, exponent)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(DateParts, column, parts)

NLOHMANN_JSON_SERIALIZE_ENUM(Impute::With, {{Impute::With::kMean, "mean"},
                                            {Impute::With::kMedian, "median"},
                                            {Impute::With::kMostFrequent, "most_frequent"},
                                            {Impute::With::kConstant, "constant"}})

void to_json(nlohmann::json& json, const Impute& f) {
  json = {{"column", f.column}, {"with", f.with}, {"indicator", f.indicator}};
  std::visit([&](const auto& value) { json["value"] = value; }, f.value);
}

void from_json(const nlohmann::json& json, Impute& f) {
  f.column = json.value("column", f.column);
  f.with = json.value("with", f.with);
  f.indicator = json.value("indicator", f.indicator);
  if (const auto value = json.find("value"); value != json.end()) {
    if (value->is_string()) {
      f.value = value->get<std::string>();
    } else {
      f.value = value->get<double>();
    }
  }
}

namespace {

using Json = nlohmann::json;

/// One for each alternative of Feature, in its order.
constexpr std::array<const char*, std::variant_size_v<Feature>> kKinds = {
    "string_index", "min_max_scale", "standard_scale", "hash_bucket", "cross_hash", "one_hot", "impute",
    "quantile_bin", "log",           "power",          "date_parts"};

Json json_of(const Feature& feature) {
  Json json = std::visit([](const auto& f) { return Json(f); }, feature);
  json["kind"] = name_of(feature);
  return json;
}

template <size_t kIndex = 0>
Feature feature_of_kind(const std::string& kind, const Json& json) {
  if constexpr (kIndex == std::variant_size_v<Feature>) {
    raise("there is no feature '", kind, "'; near: ", nearest_names(kind, {kKinds.begin(), kKinds.end()}));
  } else {
    if (kind != kKinds[kIndex]) return feature_of_kind<kIndex + 1>(kind, json);
    return json.get<std::variant_alternative_t<kIndex, Feature>>();
  }
}

Feature feature_from_json(const Json& json) {
  const auto kind = json.at("kind").get<std::string>();
  Feature feature = feature_of_kind(kind, json);
  check_keys(kind, json, json_of(feature));
  return feature;
}

}  // namespace

const char* name_of(const Feature& feature) { return kKinds[feature.index()]; }

void check_feature(const Feature& feature) {
  const auto complain = [](const auto& f) -> const char* {
    if constexpr (requires { f.column; }) {
      if (f.column.empty()) return "needs a column";
    }
    return complaint_of(f);
  };
  const char* complaint = std::visit(complain, feature);
  TW_REQUIRE(complaint == nullptr, name_of(feature), ": ", complaint);
}

std::string Features::to_json() const {
  Json list = Json::array();
  for (const Feature& feature : features_) list.push_back(json_of(feature));
  return dump_json("features", list);
}

Features Features::from_json(const std::string& text) {
  try {
    const Json list = Json::parse(text);
    TW_REQUIRE(list.is_array(), "is no JSON list");
    std::vector<Feature> features;
    for (const Json& item : list) features.push_back(feature_from_json(item));
    return Features(std::move(features));
  } catch (const Json::exception& error) {
    raise("features: ", error.what());
  } catch (const Error& error) {
    raise("features: ", error.what());
  }
}

}  // namespace thalweg::data
