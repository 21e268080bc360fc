// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/group_progress.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"

namespace thalweg::sync {
namespace {

/// A worker that computes so much longer than the median of the others is named.
constexpr double kStraggles = 1.3;
constexpr const char* kReading = "reading";

/// What the scheme of a worker reports (src/sync/group_scheme.cc).
struct Report {
  std::string name;
  double step = 0, loss = 0, samples_per_second = 0, data_wait = 0, exchange_wait = 0, pace = 0;
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
                       number("exchange_wait"), number("pace")});
  }
  return reports;
}

struct Straggler {
  std::string name;
  /// How many times as long as others it takes.
  double times = 0;
};

/// Among those whose pace is known.
std::optional<Straggler> find_straggler(std::vector<Report> reports) {
  std::erase_if(reports, [](const Report& report) { return report.pace <= 0; });
  if (reports.size() < 2) return std::nullopt;
  std::sort(reports.begin(), reports.end(), [](const Report& a, const Report& b) { return a.pace < b.pace; });
  const Report& slowest = reports.back();
  const double others = reports[(reports.size() - 1) / 2].pace;
  if (slowest.pace < kStraggles * others) return std::nullopt;
  return Straggler{slowest.name, slowest.pace / others};
}

/// What a line says, before it is put into words.
struct Summary {
  size_t workers = 0;
  double step = 0, loss = 0, samples_per_second = 0, data_wait = 0, exchange_wait = 0;
  std::optional<Straggler> straggler;
};

Summary summarise(const std::vector<Report>& reports, size_t workers) {
  Summary summary{workers, 0, reports[0].loss, reports[0].samples_per_second, 0, 0, find_straggler(reports)};
  for (const Report& report : reports) {
    summary.step = std::max(summary.step, report.step);
    summary.data_wait += report.data_wait / static_cast<double>(reports.size());
    summary.exchange_wait += report.exchange_wait / static_cast<double>(reports.size());
  }
  return summary;
}

template <typename... Values>
std::string print(const char* format, Values... values) {
  char text[160];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

std::string full_line(const Summary& summary) {
  std::string text = print(
      "%zu workers  step %.0f  loss %.4f  %.0f samples/s  waiting for data %.0f%%, for others %.0f%%", summary.workers,
      summary.step, summary.loss, summary.samples_per_second, 100 * summary.data_wait, 100 * summary.exchange_wait);
  if (!summary.straggler) return text;
  return text + "  " + summary.straggler->name + print(" takes %.1f times as long as others", summary.straggler->times);
}

std::string short_line(const Summary& summary, size_t width) {
  std::string text = print("loss %.4g  %.0f samples/s  wait: data %.0f%% others %.0f%%", summary.loss,
                           summary.samples_per_second, 100 * summary.data_wait, 100 * summary.exchange_wait);
  if (summary.straggler) text += "  " + summary.straggler->name + print(" %.1fx slow", summary.straggler->times);
  for (const std::string& part : {print("step %.0f  ", summary.step), print("%zu workers  ", summary.workers)}) {
    if (part.size() + text.size() > width) break;
    text.insert(0, part);
  }
  return text;
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

std::string group_progress(const std::vector<comm::Rendezvous::Member>& members, size_t width) {
  const std::vector<Report> reports = read(members);
  if (reports.empty()) return "";
  const Summary summary = summarise(reports, members.size());
  const std::string text = full_line(summary);
  return text.size() <= width ? text : short_line(summary, width);
}

int64_t group_step(const std::vector<comm::Rendezvous::Member>& members) {
  // More than a run can make, which what somebody says may claim.
  constexpr double kMost = 1e18;
  double step = 0;
  for (const Report& report : read(members)) step = std::max(step, std::min(report.step, kMost));
  return static_cast<int64_t>(step);
}

}  // namespace thalweg::sync
