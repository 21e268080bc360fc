// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/data/features.h"

namespace thalweg::data {

/// As in JSON: "string_index".
const char* name_of(const Feature& feature);

/// Throws Error naming the feature and the parameter that makes no sense.
void check_feature(const Feature& feature);

}  // namespace thalweg::data
