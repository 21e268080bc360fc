// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/trial/summary.h"

namespace thalweg::cli {

/// Everything that a trial has to say.
struct TrialReport {
  /// What was compared, and how, in a few words each: ("workers", "4").
  std::vector<std::pair<std::string, std::string>> setting;
  /// The loss that "time to target" is about, and whether the user has asked for it.
  std::optional<double> target;
  bool target_was_given = false;
  std::vector<SchemeSummary> schemes;
};

/// The columns of the table, and its rows: schemes that were run, the best first.
struct TrialTable {
  std::vector<std::string> headers;
  std::vector<std::vector<std::string>> rows;
  /// By row, the place among the report's schemes.
  std::vector<size_t> schemes;
};
TrialTable table_of(const TrialReport& report);

/// The report as one HTML file that needs no other.
std::string page_of(const TrialReport& report);

}  // namespace thalweg::cli
