// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/group_progress.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace thalweg::sync {
namespace {

/// A worker that computes so much longer than the median of the others is named.
constexpr double kStraggles = 1.3;
constexpr const char* kReading = "reading";

/// What the scheme of a worker reports (src/sync/group_scheme.cc).
struct Report {
  std::string name;
  double step = 0, loss = 0, samples_per_second = 0, data_wait = 0, exchange_wait = 0, compute_seconds = 0;
};

std::vector<Report> read(const std::vector<comm::Rendezvous::Member>& members) {
  std::vector<Report> reports;
  for (const comm::Rendezvous::Member& member : members) {
    const nlohmann::json json = nlohmann::json::parse(member.status, nullptr, false);
    if (!json.is_object() || !json.contains("step")) continue;
    const auto number = [&](const char* key) {
      const auto found = json.find(key);
      return found != json.end() && found->is_number() ? found->get<double>() : 0.0;
    };
    reports.push_back({member.name, number("step"), number("loss"), number("samples_per_second"), number("data_wait"),
                       number("exchange_wait"), number("compute_seconds")});
  }
  return reports;
}

std::string straggler(std::vector<Report> reports) {
  if (reports.size() < 2) return "";
  std::sort(reports.begin(), reports.end(),
            [](const Report& a, const Report& b) { return a.compute_seconds < b.compute_seconds; });
  const Report& slowest = reports.back();
  const double others = reports[(reports.size() - 1) / 2].compute_seconds;
  if (others <= 0 || slowest.compute_seconds < kStraggles * others) return "";
  char text[64];
  std::snprintf(text, sizeof text, " takes %.1f times as long as others", slowest.compute_seconds / others);
  return "  " + slowest.name + text;
}

/// More are only counted: the line is to fit a terminal.
constexpr size_t kMostNamed = 3;

std::string rows_text(double rows) {
  char text[32];
  if (rows >= 1e6) {
    std::snprintf(text, sizeof text, "%.1f M rows", rows / 1e6);
  } else {
    std::snprintf(text, sizeof text, "%.0f rows", rows);
  }
  return text;
}

/// "worker 3 reads, 1.2 M rows".
std::string preparation_of(const comm::Rendezvous::Member& member) {
  const nlohmann::json json = nlohmann::json::parse(member.status, nullptr, false);
  const bool reads = json.is_object() && json.contains(kReading) && json.at(kReading).is_number();
  return member.name + (reads ? " reads, " + rows_text(json.at(kReading).get<double>()) : " prepares itself");
}

}  // namespace

std::string reading_status(int64_t rows) { return nlohmann::json{{kReading, rows}}.dump(); }

std::string preparation_progress(const comm::Rendezvous::State& state, int workers) {
  std::vector<std::string> parts;
  if (state.present < workers)
    parts.push_back("waiting for " + std::to_string(workers - state.present) + " of " + std::to_string(workers) +
                    " workers to come");
  const size_t named = std::min(state.preparing.size(), kMostNamed);
  for (size_t i = 0; i < named; ++i) parts.push_back(preparation_of(state.preparing[i]));
  const size_t others = state.preparing.size() - named;
  if (others > 0) parts.push_back(std::to_string(others) + " others read too");
  return ::thalweg::join(parts, "; ");
}

std::string group_progress(const std::vector<comm::Rendezvous::Member>& members) {
  const std::vector<Report> reports = read(members);
  if (reports.empty()) return "";
  double step = 0, data = 0, exchange = 0;
  for (const Report& report : reports) {
    step = std::max(step, report.step);
    data += report.data_wait / static_cast<double>(reports.size());
    exchange += report.exchange_wait / static_cast<double>(reports.size());
  }
  char text[160];
  std::snprintf(text, sizeof text,
                "%zu workers  step %.0f  loss %.4f  %.0f samples/s  waiting for data %.0f%%, for others %.0f%%",
                members.size(), step, reports[0].loss, reports[0].samples_per_second, 100 * data, 100 * exchange);
  return text + straggler(reports);
}

}  // namespace thalweg::sync
