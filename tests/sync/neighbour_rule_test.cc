// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>
#include <numbers>

#include "comm/local_group.h"
#include "sync/weight_rule.h"

namespace thalweg::testing {
namespace {

/// The weights of all workers after `steps` meetings; worker r begins with one of its own, and moves it by `update(r)`
/// before each.
template <typename UpdateOf>
std::vector<float> after_meetings(int workers, int steps, const UpdateOf& update) {
  std::vector<float> result(static_cast<size_t>(workers));
  LocalGroup group(LocalGroup::one_host(workers));
  group.run([&](comm::Communicator& communicator) {
    const int rank = communicator.rank();
    const auto rule = sync::weight_rule("ring").make({});
    sync::Meeting meeting;
    meeting.now = {static_cast<float>(rank * rank)};
    for (int step = 0; step < steps; ++step) {
      meeting.before = meeting.now;
      meeting.now[0] += update(rank);
      rule->meet(communicator, meeting).or_throw();
    }
    result[static_cast<size_t>(rank)] = meeting.now[0];
  });
  return result;
}

float mean_of(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += value;
  return static_cast<float>(sum / static_cast<double>(values.size()));
}

double distance_from_mean(const std::vector<float>& values) {
  double squares = 0;
  for (const float value : values) squares += std::pow(value - mean_of(values), 2);
  return std::sqrt(squares);
}

TEST(NeighbourRule, TheMeanMovesByTheMeanOfTheUpdates) {
  for (const int workers : {1, 2, 3, 5}) {
    const auto update = [](int rank) { return 0.25F * static_cast<float>(rank - 1); };
    const float moved = mean_of(after_meetings(workers, 4, update)) - mean_of(after_meetings(workers, 0, update));
    EXPECT_NEAR(moved, 4 * 0.25 * ((workers - 1) / 2.0 - 1), 1e-5) << workers;
  }
}

TEST(NeighbourRule, WithoutUpdatesWorkersComeTogetherAsFastAsTheSecondEigenvalueSays) {
  const auto nothing = [](int) { return 0.0F; };
  for (const int workers : {2, 3, 4, 6}) {
    double largest = 0;
    for (int k = 1; k < workers; ++k) {
      const double angle = 2 * std::numbers::pi * k / workers;
      largest = std::max(largest, std::abs((1 + 2 * std::cos(angle)) / 3));
    }
    if (workers == 2) largest = 0;
    for (int step = 0; step < 4; ++step) {
      const double before = distance_from_mean(after_meetings(workers, step, nothing));
      const double after = distance_from_mean(after_meetings(workers, step + 1, nothing));
      EXPECT_LE(after, largest * before + 1e-5) << workers << " workers, step " << step;
    }
  }
}

/// Both weights are used at once: with three workers, the first has exactly a third of each.
TEST(NeighbourRule, AThirdOfEachOnARingAndHalfOfTwo) {
  const auto nothing = [](int) { return 0.0F; };
  EXPECT_NEAR(after_meetings(3, 1, nothing)[0], (0 + 1 + 4) / 3.0, 1e-6);
  EXPECT_NEAR(after_meetings(4, 1, nothing)[0], (0 + 1 + 9) / 3.0, 1e-6);
  EXPECT_NEAR(after_meetings(2, 1, nothing)[0], 0.5, 1e-6);
}

}  // namespace
}  // namespace thalweg::testing
