// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "thalweg/data/transforms.h"

namespace thalweg::data {

nlohmann::json to_json(const Transform& transform);
nlohmann::json to_json(const Normalize& output);
/// Throws Error naming the transform and the key that is wrong.
Transform transform_from_json(const nlohmann::json& json);
Normalize normalize_from_json(const nlohmann::json& json);

}  // namespace thalweg::data
