// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// What was applied and what workers keep is the sum of all gradients, also when a worker is lost, when the group has
// another size, and over a checkpoint.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <future>
#include <random>

#include "sync/plain_trainee.h"
#include "sync/scheme_state.h"
#include "sync/workers.h"

namespace thalweg::testing {
namespace {

const Shape kShape{60, 50};
constexpr size_t kFloats = 3000;
constexpr int64_t kSteps = 12;

std::vector<float> gradient_of(int worker, int64_t step) {
  std::mt19937_64 random(static_cast<uint64_t>(1000 * worker + step));
  std::normal_distribution<float> normal(0.1F, 1.0F);
  std::vector<float> values(kFloats);
  for (float& value : values) value = normal(random);
  return values;
}

using Sums = std::vector<double>;

void add(Sums& sums, std::span<const float> values, double factor = 1) {
  for (size_t i = 0; i < kFloats; ++i) sums[i] += factor * static_cast<double>(values[i]);
}

double largest_difference(const Sums& a, const Sums& b) {
  double largest = 0;
  for (size_t i = 0; i < kFloats; ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

/// A worker without a model: its gradients are random numbers that its number says.
class Worker {
 public:
  Worker(int number, const std::string& rendezvous, const sync::SchemeOptions& options) : number_(number) {
    comm::GroupOptions member = member_of(rendezvous);
    member.name = "worker " + std::to_string(number);
    scheme_ = sync::make_scheme(options, comm::Group::join(member));
    scheme_->start(trainee_);
  }

  /// Makes steps until so many are complete, whoever is lost on the way.
  void run(int64_t steps) {
    while (trainee_.steps < steps) {
      try {
        step();
      } catch (const GroupChanged& change) {
        scheme_->regroup(trainee_, change.what());
      }
    }
  }
  /// The state of all workers, at the first.
  std::optional<Checkpoint> checkpoint() { return scheme_->checkpoint(trainee_); }
  void leave() { scheme_.reset(); }
  const Sums& applied() const { return applied_; }

 private:
  void step() {
    std::vector<float> values = gradient_of(number_, trainee_.steps);
    scheme_->add_gradient({trainee_.trained()[0].variable, values.data(), kFloats, nullptr, nullptr, 0}, 1.0);
    StepTotals totals{1.0, 1.0, false, false};
    const Update update = scheme_->exchange(totals);
    add(applied_, {update.gradients.at(0).dense, kFloats}, update.scale);
    ++trainee_.steps;
    scheme_->after_update();
  }

  int number_;
  PlainTrainee trainee_{{kShape}, optim::sgd()};
  std::shared_ptr<Scheme> scheme_;
  Sums applied_ = Sums(kFloats);
};

struct Result {
  Sums applied = Sums(kFloats);
  Sums kept = Sums(kFloats);
};

Sums kept_in(const Checkpoint& checkpoint) {
  Sums kept(kFloats);
  for (const auto& worker : sync::unpack(checkpoint.scheme).workers) {
    for (const NamedTensor& entry : worker) {
      if (entry.name == "residual/parameter0") add(kept, {entry.tensor.data<float>(), kFloats});
    }
  }
  return kept;
}

/// Three workers, of which the last leaves after `lost_after` steps.
Result train(const sync::SchemeOptions& options, int64_t lost_after) {
  const comm::Rendezvous rendezvous(quiet_rendezvous(2, 3));
  Result result;
  const int staying = lost_after < kSteps ? 2 : 3;
  std::atomic<int> ready{0};
  std::vector<std::future<void>> pending;
  for (int i = 0; i < 3; ++i) {
    pending.push_back(std::async(std::launch::async, [&, i] {
      Worker worker(i, rendezvous.address(), options);
      worker.run(i == 2 ? lost_after : kSteps);
      if (i >= staying) return worker.leave();
      const std::optional<Checkpoint> checkpoint = worker.checkpoint();
      if (checkpoint) result = {worker.applied(), kept_in(*checkpoint)};
      // Nobody leaves while another is still about to say what it keeps, or to hear that the first has it.
      ++ready;
      EXPECT_TRUE(eventually([&] { return ready == staying; }));
    }));
  }
  for (auto& entry : pending) entry.get();
  return result;
}

/// Of the first two workers all steps, of the third so many.
Sums all_gradients(int64_t of_third) {
  Sums sums(kFloats);
  for (int worker = 0; worker < 3; ++worker) {
    for (int64_t step = 0; step < (worker == 2 ? of_third : kSteps); ++step) add(sums, gradient_of(worker, step));
  }
  return sums;
}

Sums plus(Sums a, const Sums& b) {
  for (size_t i = 0; i < kFloats; ++i) a[i] += b[i];
  return a;
}

class KeptGradients : public ::testing::TestWithParam<std::string> {
 protected:
  static sync::SchemeOptions scheme(double copy_every) {
    sync::SchemeOptions options{.name = "allreduce", .compression = GetParam()};
    options.options["copy_every"] = copy_every;
    if (GetParam() == "topk" || GetParam() == "sbc") options.options["share"] = 0.02;
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(All, KeptGradients, ::testing::Values("signsgd", "topk", "sbc", "powersgd"),
                         [](const auto& test) { return test.param; });

constexpr double kRounding = 2e-3;

TEST_P(KeptGradients, NothingIsMissingWithoutALoss) {
  const Result result = train(scheme(4), kSteps);
  EXPECT_LT(largest_difference(plus(result.applied, result.kept), all_gradients(kSteps)), kRounding);
  EXPECT_GT(largest_difference(result.applied, all_gradients(kSteps)), 1) << "nothing was kept";
}

TEST_P(KeptGradients, OfAWorkerThatIsLostOnlyItsLastGradientIsMissing) {
  // All that it keeps is copied at every step, before the codes of that step: without its last gradient.
  const Result result = train(scheme(1), 7);
  EXPECT_LT(largest_difference(plus(result.applied, result.kept), all_gradients(6)), kRounding);
}

TEST_P(KeptGradients, OfASliceThatWasCopiedEarlierMoreGradientsAreMissing) {
  // All slices at step 0, then slice s of 5 at step 1 + s, which has seen the gradients of so many steps by then, and
  // the first again at step 6.
  const Result result = train(scheme(5), 7);
  const Sums held = plus(result.applied, result.kept);
  constexpr size_t kSlice = kFloats / 5;
  for (size_t slice = 0; slice < 5; ++slice) {
    const Sums expected = all_gradients(slice == 0 ? 6 : 1 + static_cast<int64_t>(slice));
    for (size_t i = slice * kSlice; i < (slice + 1) * kSlice; ++i) ASSERT_NEAR(held[i], expected[i], kRounding) << i;
  }
}

TEST_P(KeptGradients, WithoutCopiesItIsGone) {
  const Result result = train(scheme(0), 7);
  EXPECT_GT(largest_difference(plus(result.applied, result.kept), all_gradients(6)), 0.5);
}

TEST(KeptHalves, LoseNoMoreThanARounding) {
  const Result result = train({.name = "allreduce", .compression = "bf16"}, 7);
  EXPECT_LT(largest_difference(plus(result.applied, result.kept), all_gradients(7)), 0.6);
}

}  // namespace
}  // namespace thalweg::testing
