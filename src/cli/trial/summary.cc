// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/trial/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace thalweg::cli {
namespace {

/// Points of a curve, if it takes all of its time.
constexpr int kPoints = 200;
/// Over so many points losses are averaged, older ones with ever less weight.
constexpr double kSmoothedOver = 6;

using Records = std::vector<TraceRecord>;

double begin_of(const SchemeTraces& traces) {
  double begin = std::numeric_limits<double>::infinity();
  for (const WorkerTrace& worker : traces.workers) {
    if (!worker.records.empty()) begin = std::min(begin, worker.records.front().time);
  }
  return begin;
}

/// Of the last record of those that were told to stop in time: what comes later is the end of the run.
double end_of(const SchemeTraces& traces) {
  double end = begin_of(traces);
  for (const WorkerTrace& worker : traces.workers) {
    for (const TraceRecord& record : worker.records) {
      if (traces.stopped_at <= 0 || record.time <= traces.stopped_at) end = std::max(end, record.time);
    }
  }
  return end;
}

/// The last record that is no later; null if there is none.
const TraceRecord* last_before(const Records& records, double time) {
  const auto after = std::upper_bound(records.begin(), records.end(), time,
                                      [](double when, const TraceRecord& record) { return when < record.time; });
  return after == records.begin() ? nullptr : &*std::prev(after);
}

/// Between records in proportion to the time.
double value_at(const Records& records, double time, double TraceRecord::*value) {
  const TraceRecord* before = last_before(records, time);
  if (before == nullptr) return 0;
  if (before == &records.back()) return before->*value;
  const TraceRecord& after = *(before + 1);
  const double share = (time - before->time) / std::max(1e-9, after.time - before->time);
  return before->*value + share * (after.*value - before->*value);
}

double sum_at(const SchemeTraces& traces, double time, double TraceRecord::*value) {
  double sum = 0;
  for (const WorkerTrace& worker : traces.workers) sum += value_at(worker.records, time, value);
  return sum;
}

/// Mean over the workers that have said something in that time; NaN if nobody has.
double loss_between(const SchemeTraces& traces, double begin, double end) {
  double sum = 0;
  int workers = 0;
  for (const WorkerTrace& worker : traces.workers) {
    double losses = 0;
    int records = 0;
    for (const TraceRecord& record : worker.records) {
      if (record.time <= begin || record.time > end || record.samples <= 0) continue;
      losses += record.loss;
      ++records;
    }
    if (records == 0) continue;
    sum += losses / records;
    ++workers;
  }
  return workers > 0 ? sum / workers : std::nan("");
}

std::vector<TrialPoint> points_of(const SchemeTraces& traces, double seconds) {
  std::vector<TrialPoint> points;
  const double begin = begin_of(traces), end = end_of(traces), step = seconds / kPoints;
  double smooth = 0, weight = 0;
  for (double time = begin; time < end;) {
    const double next = std::min(end, time + step);
    const double loss = loss_between(traces, time, next);
    time = next;
    if (!std::isnan(loss)) {
      constexpr double kKept = 1 - 1 / kSmoothedOver;
      smooth = kKept * smooth + (1 - kKept) * loss;
      weight = kKept * weight + (1 - kKept);
    }
    if (weight == 0) continue;
    points.push_back({time - begin, sum_at(traces, time, &TraceRecord::samples),
                      sum_at(traces, time, &TraceRecord::sent_bytes), smooth / weight});
  }
  return points;
}

void add_shares(const SchemeTraces& traces, SchemeSummary& summary) {
  double least = 1, exchange = 0, data_wait = 0;
  int workers = 0;
  for (const WorkerTrace& worker : traces.workers) {
    if (worker.records.size() < 2) continue;
    const double lived = worker.records.back().time - worker.records.front().time;
    // Of one that came late, or went early, the beginning would count for too much.
    if (lived < 0.3 * summary.seconds || lived <= 0) continue;
    const double share = std::min(1.0, worker.records.back().exchange / lived);
    least = std::min(least, share);
    exchange += share;
    data_wait += std::min(1.0, worker.records.back().data_wait / lived);
    ++workers;
  }
  if (workers == 0) return;
  summary.exchanging = least;
  summary.waiting = std::max(0.0, exchange / workers - least);
  summary.waiting_for_data = data_wait / workers;
  summary.computing = std::max(0.0, 1 - exchange / workers - summary.waiting_for_data);
}

/// The longest time after the kill in which no worker that was there before has said anything of a step.
double longest_pause(const SchemeTraces& traces, double killed, double end) {
  std::vector<double> times = {killed};
  for (const WorkerTrace& worker : traces.workers) {
    if (worker.worker == traces.killed_worker) continue;
    for (const TraceRecord& record : worker.records) {
      if (record.time > killed && record.time <= end) times.push_back(record.time);
    }
  }
  times.push_back(end);
  std::sort(times.begin(), times.end());
  double longest = 0;
  for (size_t i = 1; i < times.size(); ++i) longest = std::max(longest, times[i] - times[i - 1]);
  return longest;
}

std::optional<KillCost> cost_of_kill(const SchemeTraces& traces) {
  if (!traces.killed_at) return std::nullopt;
  const double begin = begin_of(traces), end = end_of(traces), killed = *traces.killed_at;
  // The first steps are slower than others.
  const double warm = begin + 0.2 * (killed - begin);
  const auto samples = [&](double time) { return sum_at(traces, time, &TraceRecord::samples); };
  const double pace = (samples(killed) - samples(warm)) / std::max(1e-9, killed - warm);
  KillCost cost;
  if (pace > 0) cost.seconds = (end - killed) - (samples(end) - samples(killed)) / pace;
  cost.pause = longest_pause(traces, killed, end);
  for (const WorkerTrace& worker : traces.workers) {
    if (worker.worker != traces.killed_worker || worker.records.size() < 2) continue;
    if (worker.records.front().time > killed) cost.back_after = worker.records[1].time - killed;
  }
  return cost;
}

}  // namespace

SchemeSummary summarise(const SchemeTraces& traces, double seconds) {
  SchemeSummary summary;
  summary.scheme = traces.scheme;
  (traces.refused ? summary.skipped : summary.failure) = traces.failure;
  summary.points = points_of(traces, seconds);
  for (const WorkerTrace& worker : traces.workers) {
    for (const TraceRecord& record : worker.records) summary.steps = std::max(summary.steps, record.step);
    if (!worker.scores.empty()) summary.scores = worker.scores;
    if (!worker.chosen.empty()) summary.chosen = Json::parse(worker.chosen, nullptr, false);
  }
  if (summary.points.empty()) return summary;
  const TrialPoint& last = summary.points.back();
  summary.seconds = last.seconds;
  summary.samples = last.samples;
  summary.samples_per_second = last.seconds > 0 ? last.samples / last.seconds : 0;
  summary.sent_bytes = last.sent_bytes;
  summary.loss = last.loss;
  add_shares(traces, summary);
  summary.kill = cost_of_kill(traces);
  return summary;
}

bool has_reached(const SchemeTraces& traces, double target, double seconds) {
  const std::vector<TrialPoint> points = points_of(traces, seconds);
  // The first few are of a few batches only.
  return points.size() >= kSmoothedOver && points.back().loss <= target;
}

std::optional<double> seconds_to(const SchemeSummary& summary, double loss) {
  for (const TrialPoint& point : summary.points) {
    if (point.loss <= loss) return point.seconds;
  }
  return std::nullopt;
}

std::optional<double> median_loss(const std::vector<SchemeSummary>& summaries) {
  std::vector<double> losses;
  for (const SchemeSummary& summary : summaries) {
    if (summary.ran() && std::isfinite(summary.loss) && !summary.points.empty()) losses.push_back(summary.loss);
  }
  if (losses.empty()) return std::nullopt;
  std::sort(losses.begin(), losses.end());
  return losses[losses.size() / 2];
}

Json to_json(const SchemeSummary& summary) {
  if (!summary.skipped.empty()) return {{"scheme", summary.scheme}, {"skipped", summary.skipped}};
  Json json = {{"scheme", summary.scheme}};
  if (!summary.failure.empty()) json["failure"] = summary.failure;
  if (summary.points.empty()) return json;
  json["seconds"] = summary.seconds;
  json["steps"] = summary.steps;
  json["samples"] = summary.samples;
  json["samples_per_second"] = summary.samples_per_second;
  json["sent_bytes"] = summary.sent_bytes;
  json["loss"] = summary.loss;
  json["seconds_to_target"] = summary.seconds_to_target ? Json(*summary.seconds_to_target) : Json(nullptr);
  json["shares"] = {{"computing", summary.computing},
                    {"waiting_for_data", summary.waiting_for_data},
                    {"waiting", summary.waiting},
                    {"exchanging", summary.exchanging}};
  json["scores"] = summary.scores;
  if (summary.chosen.is_object()) json["chosen"] = summary.chosen;
  if (summary.kill) {
    json["kill"] = {{"seconds", summary.kill->seconds},
                    {"pause", summary.kill->pause},
                    {"back_after", summary.kill->back_after ? Json(*summary.kill->back_after) : Json(nullptr)}};
  }
  json["points"] = Json::array();
  for (const TrialPoint& point : summary.points) {
    json["points"].push_back({{"seconds", point.seconds},
                              {"samples", point.samples},
                              {"sent_bytes", point.sent_bytes},
                              {"loss", point.loss}});
  }
  return json;
}

}  // namespace thalweg::cli
