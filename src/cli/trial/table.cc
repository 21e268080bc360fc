// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "cli/text_table.h"
#include "cli/trial/page.h"

namespace thalweg::cli {
namespace {

/// The score that is looked at: a metric, or the loss if there is none.
std::string score_name(const TrialReport& report) {
  for (const SchemeSummary& scheme : report.schemes) {
    for (const auto& [name, value] : scheme.scores) {
      if (name != "loss") return name;
    }
  }
  return "loss";
}

std::string percent(double share) { return format("%.0f%%", 100 * share); }

double time_or_endless(const SchemeSummary& scheme) {
  return scheme.seconds_to_target.value_or(std::numeric_limits<double>::infinity());
}

/// Those that were run: first by the time to the target, then by the loss.
std::vector<size_t> in_order(const std::vector<SchemeSummary>& schemes) {
  std::vector<size_t> order;
  for (size_t i = 0; i < schemes.size(); ++i) {
    if (schemes[i].ran()) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const double first = time_or_endless(schemes[a]), second = time_or_endless(schemes[b]);
    return first != second ? first < second : schemes[a].loss < schemes[b].loss;
  });
  return order;
}

}  // namespace

TrialTable table_of(const TrialReport& report) {
  const std::string score = score_name(report);
  const bool has_kill = std::any_of(report.schemes.begin(), report.schemes.end(),
                                    [](const SchemeSummary& scheme) { return scheme.kill.has_value(); });
  TrialTable table;
  table.headers = {"scheme"};
  if (report.target) table.headers.push_back("s to loss " + format("%.3g", *report.target));
  for (const char* header : {"steps", "samples/s", "sent MB", "computing", "data", "waiting", "exchanging", "loss"}) {
    table.headers.emplace_back(header);
  }
  table.headers.push_back("final " + score);
  if (has_kill) table.headers.insert(table.headers.end(), {"kill cost s", "back after s"});
  for (const size_t i : in_order(report.schemes)) {
    const SchemeSummary& scheme = report.schemes[i];
    std::vector<std::string> row = {scheme.scheme};
    if (report.target) row.push_back(scheme.seconds_to_target ? format("%.2f", *scheme.seconds_to_target) : "-");
    row.push_back(std::to_string(scheme.steps));
    row.push_back(format("%.0f", scheme.samples_per_second));
    row.push_back(format("%.1f", scheme.sent_bytes / 1e6));
    for (const double share : {scheme.computing, scheme.waiting_for_data, scheme.waiting, scheme.exchanging}) {
      row.push_back(percent(share));
    }
    row.push_back(format("%.4f", scheme.loss));
    const auto found = scheme.scores.find(score);
    row.push_back(found != scheme.scores.end() ? format("%.4f", found->second) : "-");
    if (has_kill) {
      const bool is_back = scheme.kill && scheme.kill->back_after;
      row.push_back(scheme.kill ? format("%.1f", scheme.kill->seconds) : "-");
      row.push_back(is_back ? format("%.1f", *scheme.kill->back_after) : "-");
    }
    table.rows.push_back(std::move(row));
    table.schemes.push_back(i);
  }
  return table;
}

}  // namespace thalweg::cli
