// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "thalweg/optim.h"

namespace thalweg::optim {

/// '*' matches any characters, also none; '?' matches one.
bool matches_pattern(std::string_view pattern, std::string_view name);

/// Throws if a value of the group is impossible; the message names the pattern.
void check_group(const ParameterGroup& group);

/// Replaces in `settings` what the group sets.
void apply_group(const ParameterGroup& group, ParameterSettings& settings);

}  // namespace thalweg::optim
