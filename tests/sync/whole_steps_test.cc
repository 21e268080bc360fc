// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// A step of all that breaks off when some servers have made its update, and others have not, counts as not made.
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "sync/plain_trainee.h"
#include "sync/scheme_state.h"
#include "sync/workers.h"

namespace thalweg::testing {
namespace {

constexpr int64_t kFloats = 90;
constexpr int64_t kSteps = 6;

/// Counts how often its server asks for the optimiser, and may fail it.
class WatchedTrainee : public PlainTrainee {
 public:
  explicit WatchedTrainee(double momentum) : PlainTrainee({Shape{kFloats}}, optim::sgd({.momentum = momentum})) {}
  std::atomic<int> asked{0};
  /// This request of the server's fails, once others have come to where they should be.
  int fails_at = 0;
  std::function<bool()> may_fail;

  optim::Optimizer& updater() override {
    if (std::this_thread::get_id() != owner_ && ++asked == fails_at) {
      EXPECT_TRUE(eventually(may_fail)) << "the others did not make the update";
      raise("injected: no memory for the update");
    }
    return PlainTrainee::updater();
  }

 private:
  const std::thread::id owner_ = std::this_thread::get_id();
};

/// What the compressor of the worker that leads keeps.
std::vector<float> kept_in(const std::optional<Checkpoint>& checkpoint) {
  if (!checkpoint) return {};
  const sync::SchemeState state = sync::unpack(checkpoint->scheme);
  if (state.workers.empty()) return {};
  for (const NamedTensor& entry : state.workers[0]) {
    if (entry.name == "residual/parameter0") return floats(entry.tensor);
  }
  return {};
}

/// Gradients of ones, so that the mean over any number of workers is one.
std::vector<float> make_steps(Scheme& scheme, WatchedTrainee& trainee) {
  while (trainee.steps < kSteps) {
    try {
      std::vector<float> ones(kFloats, 1.0F);
      scheme.add_gradient({trainee.trained()[0].variable, ones.data(), ones.size(), nullptr, nullptr, 0}, 1.0);
      StepTotals totals{1.0, 1.0, false, false};
      scheme.exchange(totals);
      ++trainee.steps;
      scheme.after_update();
    } catch (const GroupChanged& change) {
      scheme.regroup(trainee, change.what());
    }
  }
  const std::vector<float> kept = kept_in(scheme.checkpoint(trainee));
  scheme.finish(trainee);
  return kept;
}

struct Ending {
  std::vector<float> weights;
  int64_t updates = 0;
  /// Of the one that leads.
  std::vector<float> kept;
};

struct Case {
  sync::SchemeOptions scheme;
  double momentum = 0.9;
  /// How often a server asks for the optimiser in a step, and the first and the last in two.
  int asked_in_a_step = 0, asked_by_first = 0, asked_by_last = 0;
};

/// The first and the last of three workers, of which the second is lost in its second step when the servers of the
/// others have made the update.
std::vector<Ending> lose_the_second(const Case& now) {
  const comm::Rendezvous rendezvous(quiet_rendezvous(1, 3));
  std::atomic<WatchedTrainee*> trainees[3] = {};
  std::vector<std::future<Ending>> pending;
  for (int rank = 0; rank < 3; ++rank) {
    pending.push_back(std::async(std::launch::async, [&, rank] {
      comm::GroupOptions member = member_of(rendezvous.address());
      std::shared_ptr<comm::Group> group = comm::Group::join(member);
      const int place = group->rank();
      WatchedTrainee trainee(now.momentum);
      trainees[place] = &trainee;
      if (place == 1) {
        trainee.fails_at = now.asked_in_a_step + 1;
        trainee.may_fail = [&] {
          return trainees[0].load()->asked >= now.asked_by_first && trainees[2].load()->asked >= now.asked_by_last;
        };
      }
      const std::shared_ptr<Scheme> scheme = sync::make_scheme(now.scheme, std::move(group));
      scheme->start(trainee);
      Ending ending;
      try {
        ending.kept = make_steps(*scheme, trainee);
      } catch (const GroupChanged&) {
        throw;
      } catch (const Error&) {
        scheme->abandon("");
        return Ending();
      }
      const auto* values = static_cast<const float*>(trainee.variables().data(0));
      ending.weights.assign(values, values + kFloats);
      ending.updates = trainee.updater().updates(0);
      return ending;
    }));
  }
  std::vector<Ending> endings;
  for (auto& entry : pending) endings.push_back(entry.get());
  std::erase_if(endings, [](const Ending& ending) { return ending.weights.empty(); });
  return endings;
}

void expect_steps_made_once(const Ending& ending, int64_t begin, int64_t end) {
  float velocity = 0, weight = 0;
  for (int64_t step = 0; step < kSteps; ++step) {
    velocity = 0.9F * velocity + 1;
    weight -= 0.1F * velocity;
  }
  for (int64_t i = begin; i < end; ++i) EXPECT_NEAR(ending.weights[static_cast<size_t>(i)], weight, 1e-5) << i;
  EXPECT_EQ(ending.updates, kSteps);
}

sync::SchemeOptions scheme(int copies, const std::string& compression) {
  sync::SchemeOptions options{.name = "parameter-server", .compression = compression};
  options.options = {{"staleness", 0}, {"copies", copies}};
  if (compression == "topk") options.options["share"] = 0.1;
  return options;
}

TEST(WholeSteps, AServerTakesBackAnUpdateThatOthersHaveNotMade) {
  const std::vector<Ending> endings = lose_the_second({scheme(0, "none"), 0.9, 2, 4, 4});
  ASSERT_EQ(endings.size(), 2U);
  for (const Ending& ending : endings) {
    // The middle was served by the one that is lost, and its momentum is lost with it.
    expect_steps_made_once(ending, 0, kFloats / 3);
    expect_steps_made_once(ending, 2 * kFloats / 3, kFloats);
  }
}

TEST(WholeSteps, SoThatWithCopiesNothingIsLost) {
  // The first also copies what the last serves, which copies what the second serves.
  const std::vector<Ending> endings = lose_the_second({scheme(1, "none"), 0.9, 6, 12, 9});
  ASSERT_EQ(endings.size(), 2U);
  for (const Ending& ending : endings) expect_steps_made_once(ending, 0, kFloats);
}

TEST(WholeSteps, WhatCompressionsKeepIsThatOfStepsThatWereMade) {
  const std::vector<Ending> endings = lose_the_second({scheme(0, "topk"), 0, 2, 4, 4});
  ASSERT_EQ(endings.size(), 2U);
  int told = 0;
  for (const Ending& ending : endings) {
    if (ending.kept.empty()) continue;
    ++told;
    // All have the same gradients, codes and residuals: what was applied and what is kept are the sum of all steps.
    for (size_t i = 0; i < ending.kept.size(); ++i) {
      EXPECT_NEAR(-10 * ending.weights[i] + ending.kept[i], kSteps, 1e-4) << i;
    }
  }
  EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace thalweg::testing
