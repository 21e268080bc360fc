// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optim/groups.h"

#include <cmath>

namespace thalweg::optim {

/// Remembers only the last '*': linear in practice, quadratic at worst, whatever the pattern.
bool matches_pattern(std::string_view pattern, std::string_view name) {
  size_t p = 0;
  size_t n = 0;
  size_t star = std::string_view::npos;
  size_t resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

void check_group(const ParameterGroup& group) {
  TW_REQUIRE(!group.pattern.empty(), "parameter group without a pattern");
  const auto check = [&](const char* what, const std::optional<double>& value) {
    TW_REQUIRE(!value || (*value >= 0.0 && std::isfinite(*value)), "parameter group \"", group.pattern, "\": ", what,
               " is ", *value, ", must not be negative");
  };
  check("learning_rate_factor", group.learning_rate_factor);
  check("weight_decay", group.weight_decay);
  check("l1", group.l1);
  check("l2", group.l2);
}

void apply_group(const ParameterGroup& group, ParameterSettings& settings) {
  const auto replace = [](auto& target, const auto& value) {
    if (value) target = *value;
  };
  replace(settings.learning_rate_factor, group.learning_rate_factor);
  replace(settings.weight_decay, group.weight_decay);
  replace(settings.l1, group.l1);
  replace(settings.l2, group.l2);
  replace(settings.frozen, group.frozen);
  replace(settings.layer_adaptation, group.layer_adaptation);
}

}  // namespace thalweg::optim
