// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/json_keys.h"

#include "base/text.h"
#include "thalweg/error.h"

namespace thalweg::data {

void check_keys(const std::string& what, const nlohmann::json& given, const nlohmann::json& understood) {
  std::vector<std::string> known;
  for (const auto& [key, value] : understood.items()) known.push_back(key);
  for (const auto& [key, value] : given.items()) {
    TW_REQUIRE(understood.contains(key), what, ": unknown key '", key, "'; near: ", nearest_names(key, known));
    TW_REQUIRE(value.is_structured() || value == understood.at(key), what, ": ", key, " cannot be ", value.dump());
  }
}

std::string dump_json(const std::string& what, const nlohmann::json& json) {
  try {
    return json.dump();
  } catch (const nlohmann::json::exception& error) {
    raise(what, ": holds text that is not UTF-8, which a model's file cannot hold: convert the data first (",
          error.what(), ")");
  }
}

}  // namespace thalweg::data
