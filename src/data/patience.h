// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace thalweg::data {

/// What threads have for their end after a wait for them was given up.
inline constexpr std::chrono::seconds kLastGrace{2};
/// The longest wait: more could not be added to a time.
inline constexpr std::chrono::seconds kLongestPatience = std::chrono::hours(24 * 365);

}  // namespace thalweg::data
