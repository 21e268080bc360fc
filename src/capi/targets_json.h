// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "thalweg/fit_data.h"

namespace thalweg::capi {

/// A list of objects with the "dtype" and "shape" of one row, and "classes" ("count", "ignored") where it is the number
/// of one.
nlohmann::json to_json(const std::vector<AcceptedTarget>& targets);

}  // namespace thalweg::capi
