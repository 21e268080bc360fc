// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "capi/targets_json.h"

#include <nlohmann/json.hpp>

namespace thalweg::capi {

nlohmann::json to_json(const std::vector<AcceptedTarget>& targets) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [type, classes] : targets) {
    nlohmann::json& target =
        list.emplace_back(nlohmann::json{{"dtype", name_of(type.dtype)}, {"shape", type.shape.dims()}});
    if (classes) target["classes"] = {{"count", classes->count}, {"ignored", classes->ignored}};
  }
  return list;
}

}  // namespace thalweg::capi
