// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/choose/choice.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/text.h"

namespace thalweg::sync {
namespace {

using Json = nlohmann::json;

/// A scheme that is nearer to one worker's result is taken if it needs at most so much more than the quickest.
constexpr double kHardlyLonger = 1.1;
/// The share of a step in which gradients become final, and travel while others are computed.
constexpr double kOverlap = 0.5;
/// Gradients travel in buckets of about so many bytes (bucket_bytes).
constexpr double kBucketBytes = 4 << 20;
// How far a step gets, where a step of plain all-reduce is 1: assumptions, which docs/groups.md states.
constexpr double kLossy = 0.9, kLate = 0.9, kElastic = 0.7, kLostByAStepApart = 0.02;
constexpr double kLongestPeriod = 50;

double progress_of_period(double period) { return 1 / (1 + kLostByAStepApart * (period - 1)); }

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(std::max<size_t>(1, values.size()));
}

/// Times of steps, by what waits for whom.
class Paces {
 public:
  explicit Paces(const std::vector<std::vector<double>>& step_seconds) : seconds_(step_seconds) {
    steps_ = seconds_.empty() ? 0 : seconds_[0].size();
    for (const auto& own : seconds_) steps_ = std::min(steps_, own.size());
  }
  size_t workers() const { return seconds_.size(); }
  /// Of a step that waits for all workers but so many, those that are last.
  double of_all_but(size_t left_out) const {
    std::vector<double> of_step;
    for (size_t step = 0; step < steps_; ++step) {
      std::vector<double> all;
      for (const auto& own : seconds_) all.push_back(own[step]);
      std::sort(all.begin(), all.end());
      of_step.push_back(all[all.size() - 1 - left_out]);
    }
    return mean(of_step);
  }
  /// By worker, where nobody waits.
  std::vector<double> own() const {
    std::vector<double> result;
    for (const auto& own : seconds_) result.push_back(mean({own.begin(), own.begin() + static_cast<long>(steps_)}));
    return result;
  }

 private:
  const std::vector<std::vector<double>>& seconds_;
  size_t steps_ = 0;
};

double messages_for(double bytes) { return std::max(1.0, std::ceil(bytes / kBucketBytes)); }

/// Of gradients that travel while the rest of them is computed, and a code that is made before that.
Estimate all_reduce(const Measurements& measured, const Paces& paces, const FormCost* form) {
  Estimate estimate;
  estimate.scheme.name = "allreduce";
  double bytes = measured.gradient_bytes, computing = paces.of_all_but(0), progress = 1;
  if (form != nullptr) {
    estimate.scheme.compression = form->compression;
    estimate.scheme.options = form->options;
    bytes = form->bytes;
    computing += form->seconds;
    // Half of the digits, with what is lost added later, make no difference that shows.
    progress = form->compression == "bf16" ? 1 : kLossy;
  }
  const double messages = messages_for(bytes), exchange = measured.link.seconds_for(bytes, messages);
  const double hidden = std::min(exchange * (1 - 1 / messages), kOverlap * computing);
  // Then they agree on the loss.
  estimate.seconds = (computing + exchange - hidden + measured.link.seconds) / progress;
  return estimate;
}

/// Servers wait for all but one worker.
Estimate with_backup(const Measurements& measured, const Paces& paces) {
  const double exchange = measured.link.seconds_for(measured.gradient_bytes);
  const auto workers = static_cast<double>(paces.workers());
  return {{.name = "tensorflow"}, (paces.of_all_but(1) + exchange) * workers / (workers - 1)};
}

/// A worker that is held up now and then makes up for it in its next steps.
Estimate bounded(const Measurements& measured, const Paces& paces) {
  const std::vector<double> own = paces.own();
  const double exchange = measured.link.seconds_for(measured.gradient_bytes);
  return {{.name = "petuum"}, (*std::max_element(own.begin(), own.end()) + exchange) / kLate};
}

/// The period at which a step's share of the exchange and what is lost by training apart are least together.
double best_period(double computing, double exchange) {
  const double least = std::sqrt(exchange * (1 - kLostByAStepApart) / (kLostByAStepApart * std::max(computing, 1e-9)));
  return std::clamp(std::round(least), 2.0, kLongestPeriod);
}

Estimate averaging(const Measurements& measured, const Paces& paces) {
  const std::vector<double> own = paces.own();
  const double slowest = *std::max_element(own.begin(), own.end());
  const double exchange = measured.link.seconds_for(measured.weight_bytes);
  const double period = best_period(slowest, exchange);
  return {{.name = "localsgd", .options = {{"period", period}}},
          (slowest + exchange / period) / progress_of_period(period)};
}

/// Each worker makes steps at its own pace, each of which counts for its share of a batch.
Estimate elastic(const Measurements& measured, const Paces& paces) {
  const std::vector<double> own = paces.own();
  const double exchange = measured.link.seconds_for(measured.weight_bytes);
  const double period = best_period(mean(own), exchange);
  double steps_per_second = 0;
  for (const double seconds : own) steps_per_second += 1 / std::max(seconds + exchange / period, 1e-9);
  const double batches_per_second = steps_per_second / static_cast<double>(own.size());
  return {{.name = "easgd", .options = {{"period", period}}},
          1 / (batches_per_second * kElastic * progress_of_period(period))};
}

std::string seconds_text(double seconds) {
  char text[32];
  if (seconds < 1) {
    std::snprintf(text, sizeof text, "%.3g ms", 1e3 * seconds);
  } else {
    std::snprintf(text, sizeof text, "%.3g s", seconds);
  }
  return text;
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string reasons(const Measurements& measured, const std::vector<Estimate>& estimates) {
  const Paces paces(measured.step_seconds);
  std::vector<double> own = paces.own();
  const size_t slowest = static_cast<size_t>(std::max_element(own.begin(), own.end()) - own.begin());
  const double longest = own[slowest];
  std::sort(own.begin(), own.end());
  std::string text = "a worker computes for " + seconds_text(own[(own.size() - 1) / 2]) +
                     " a step, the slowest (rank " + std::to_string(slowest) + ") for " + seconds_text(longest) +
                     "; to add up " + human_bytes(measured.gradient_bytes) + " of gradients takes " +
                     seconds_text(measured.link.seconds_for(measured.gradient_bytes)) +
                     "; expected for the progress of one step: ";
  std::vector<std::string> parts;
  for (const Estimate& estimate : estimates)
    parts.push_back(describe(estimate.scheme) + " " + seconds_text(estimate.seconds));
  return text + join(parts, ", ");
}

}  // namespace

std::vector<Estimate> estimate_schemes(const Measurements& measured) {
  const Paces paces(measured.step_seconds);
  std::vector<Estimate> all = {all_reduce(measured, paces, nullptr)};
  for (const FormCost& form : measured.forms) all.push_back(all_reduce(measured, paces, &form));
  if (measured.elementwise && paces.workers() > 2) all.push_back(with_backup(measured, paces));
  if (measured.elementwise) all.push_back(bounded(measured, paces));
  all.push_back(averaging(measured, paces));
  all.push_back(elastic(measured, paces));
  return all;
}

SchemeChoice choose_scheme(const Measurements& measured) {
  if (measured.step_seconds.size() < 2) return {{.name = "allreduce"}, "there is one worker, with nobody to talk to"};
  const std::vector<Estimate> estimates = estimate_schemes(measured);
  const auto by_time = [](const Estimate& a, const Estimate& b) { return a.seconds < b.seconds; };
  const double quickest = std::min_element(estimates.begin(), estimates.end(), by_time)->seconds;
  const auto chosen = std::find_if(estimates.begin(), estimates.end(), [&](const Estimate& estimate) {
    return estimate.seconds <= kHardlyLonger * quickest;
  });
  return {chosen->scheme, reasons(measured, estimates)};
}

std::string to_text(const SchemeChoice& choice) {
  return Json{{"name", choice.scheme.name},
              {"compression", choice.scheme.compression},
              {"options", choice.scheme.options},
              {"why", choice.why}}
      .dump();
}

SchemeChoice choice_from(const std::string& text) {
  SchemeChoice choice;
  try {
    const Json json = Json::parse(text);
    choice.scheme.name = json.at("name").get<std::string>();
    choice.scheme.compression = json.at("compression").get<std::string>();
    choice.scheme.options = json.at("options").get<std::map<std::string, double>>();
    choice.why = json.at("why").get<std::string>();
  } catch (const Json::exception& error) {
    raise("the choice of a scheme cannot be read: ", error.what());
  }
  check_scheme(choice.scheme);
  for (const Preset& preset : presets()) {
    TW_REQUIRE(preset.name != choice.scheme.name || !preset.is_chosen, "the scheme ", preset.name,
               " cannot be chosen by itself");
  }
  return choice;
}

std::string describe(const SchemeOptions& scheme) {
  std::vector<std::string> options;
  for (const auto& [name, value] : scheme.options) options.push_back(name + " " + number_text(value));
  const std::string listed = join(options, ", ");
  if (scheme.compression != "none") {
    return scheme.name + " with " + scheme.compression + (listed.empty() ? "" : " (" + listed + ")");
  }
  return scheme.name + (listed.empty() ? "" : " with " + listed);
}

}  // namespace thalweg::sync
