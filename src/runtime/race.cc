// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/race.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>

#include "thalweg/error.h"

namespace thalweg {
namespace {

/// Another way must be faster by this factor than the first one.
constexpr double kNoise = 1.03;
/// Candidates that are slower than the best by this factor leave the race: after their first run, which may have been
/// disturbed or be slow for being the first; after two; and later.
constexpr std::array kHopeless{4.0, 1.3, 1.15};
/// What a variation can gain at most.
constexpr double kVariation = 1.25;
constexpr int kRounds = 7;
/// So many rounds there are at least: another program may disturb any single run.
constexpr int kLeastRounds = 3;
/// How often a run is repeated because another program took a processor from it.
constexpr int kRepeats = 3;
/// No further round begins after so many seconds, preparations of the candidates included.
constexpr double kPatience = 0.05;
/// Not even one of the least rounds begins after that time: runs so long are hardly disturbed, and somebody waits.
constexpr double kLongest = 0.15;

/// How often the threads of this process had to leave a processor to another.
int64_t preemptions() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

/// The time of a run that nobody disturbed, if there is one within a few.
double undisturbed_seconds(const TuningCandidate& candidate) {
  double least = std::numeric_limits<double>::infinity();
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const int64_t before = preemptions();
    least = std::min(least, candidate.run());
    if (preemptions() == before || least > kLongest) break;
  }
  return least;
}

}  // namespace

Race::Race(std::vector<TuningCandidate> candidates) {
  TW_REQUIRE(!candidates.empty(), "a race needs somebody to run");
  for (TuningCandidate& candidate : candidates) {
    runners_.push_back({std::move(candidate), std::numeric_limits<double>::infinity()});
  }
  over_ = runners_.size() == 1;
}

double Race::fastest() const {
  double least = std::numeric_limits<double>::infinity();
  for (const Runner& runner : runners_) least = std::min(least, runner.best);
  return least;
}

bool Race::wants_to_run(const Runner& runner) const {
  // What is varied has run twice by then.
  return runner.in_race && (round_ >= 2 || runner.candidate.variant_of.empty());
}

void Race::advance() {
  TW_REQUIRE(!over_, "the race is over");
  Runner& runner = runners_[next_];
  const auto begin = std::chrono::steady_clock::now();
  runner.best = std::min(runner.best, undisturbed_seconds(runner.candidate));
  ++runner.runs;
  spent_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  drop_losers();
  ++next_;
  skip();
}

void Race::skip() {
  while (next_ < runners_.size() && !wants_to_run(runners_[next_])) ++next_;
  if (next_ == runners_.size()) end_round();
}

void Race::leave(Runner& runner) {
  runner.in_race = false;
  if (runner.candidate.leave) runner.candidate.leave();
}

void Race::drop_losers() {
  const double least = fastest();
  for (Runner& runner : runners_) {
    if (!runner.in_race || runner.runs == 0) continue;
    const size_t known = std::min<size_t>(static_cast<size_t>(runner.runs) - 1, kHopeless.size() - 1);
    if (runner.best > least * kHopeless[known]) leave(runner);
  }
}

void Race::end_round() {
  next_ = 0;
  ++round_;
  if (round_ == 2) {
    for (Runner& runner : runners_) {
      const auto varied = std::find_if(runners_.begin(), runners_.end(), [&](const Runner& other) {
        return other.candidate.name == runner.candidate.variant_of;
      });
      if (varied != runners_.end() && varied->best > fastest() * kVariation) leave(runner);
    }
  }
  const auto left = std::count_if(runners_.begin(), runners_.end(), [](const Runner& r) { return r.in_race; });
  over_ = left <= 1 || round_ == kRounds || spent_ > (round_ < kLeastRounds ? kLongest : kPatience);
  if (!over_) skip();
}

const std::string& Race::winner() const {
  TW_REQUIRE(over_, "the race is not over");
  const auto first = std::min_element(runners_.begin(), runners_.end(),
                                      [](const Runner& a, const Runner& b) { return a.best < b.best; });
  return (first->best * kNoise > runners_[0].best ? runners_[0] : *first).candidate.name;
}

}  // namespace thalweg
