// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "base/text.h"
#include "thalweg/sync.h"

namespace thalweg::sync {

/// Options by name, each with the value that was set or is usual.
using PartOptions = std::map<std::string, double>;

/// The bound of an option that has none that anybody would come to.
inline constexpr double kMany = 1e12;

/// The value, if the option takes it. Throws Error that says what it takes.
inline double checked_value(const OptionInfo& option, double value) {
  const bool fits = value >= option.least && value <= option.most && (!option.whole || value == std::floor(value));
  if (fits) return value;
  const std::string kind = option.whole ? "a whole number, " : "";
  const bool bounded = option.most < kMany;
  raise("option ", option.name, " (", option.description, ") is ", value, ", must be ", kind, "at least ", option.least,
        bounded ? " and at most " : "", bounded ? std::to_string(option.most) : "");
}

/// Of things that have a name, for messages.
template <typename All>
std::string names_of(const All& all) {
  std::vector<std::string> names;
  for (const auto& one : all) names.push_back(one.name);
  return ::thalweg::join(names, ", ");
}

/// Throws Error that lists those there are if there is none of that name.
const CompressorInfo& compressor_info(const std::string& name);

}  // namespace thalweg::sync
