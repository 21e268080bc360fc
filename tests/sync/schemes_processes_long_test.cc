// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The whole matrix with real processes: every preset, with 2 and with 4 workers, one of which is killed or stopped.
#include "sync/fault_worker.h"
#include "sync/scheme_table.h"

namespace thalweg::testing {
namespace {

/// Short, so that a worker that is stopped is soon known to be.
constexpr std::chrono::milliseconds kSilence{1900};
constexpr std::chrono::seconds kStopped{5};

class EveryPresetAmongProcesses : public ::testing::TestWithParam<std::tuple<SchemeRow, int>> {
 protected:
  static const SchemeRow& row() { return std::get<0>(GetParam()); }
  static int workers() { return std::get<1>(GetParam()); }
  static FaultJob job() {
    FaultJob made{.workers = workers(), .steps = 200, .scheme = row().scheme.name};
    made.scheme_options = row().scheme.options;
    made.momentum = row().momentum;
    return made;
  }

  static void expect_outcome_of(FaultRun& run, const FaultJob& done) {
    const auto results = run.results();
    ASSERT_FALSE(results.empty());
    for (const auto& weights : results) EXPECT_EQ(difference(weights, results[0]), 0) << "workers differ";
    Model alone(two_layers());
    Trainer trainer(alone, squared_error(), done.optimizer(), done.train_options());
    if (row().outcome == Outcome::kOfOneWorker) {
      trainer.fit(FaultJob::data());
      EXPECT_LT(difference(results[0], parameters_of(alone)), 1e-5);
    } else {
      const double untrained = trainer.evaluate(FaultJob::data()).at("loss");
      for (const NamedTensor& entry : results[0]) alone.set_weight(entry.name, entry.tensor);
      EXPECT_LT(trainer.evaluate(FaultJob::data()).at("loss"), 0.3 * untrained);
    }
  }
};

std::string name_of_process_test(const ::testing::TestParamInfo<std::tuple<SchemeRow, int>>& test) {
  std::string name = std::get<0>(test.param).scheme.name + "_" + std::to_string(std::get<1>(test.param));
  std::erase(name, '-');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Presets, EveryPresetAmongProcesses,
                         ::testing::Combine(::testing::ValuesIn(scheme_rows()), ::testing::Values(2, 4)),
                         name_of_process_test);

TEST_P(EveryPresetAmongProcesses, GoesOnWhenAWorkerIsKilledAndAnotherComes) {
  FaultRun run(job());
  run.begin();
  run.wait_for_size(workers());
  run.wait_for_step(20);
  const auto killed = FaultClock::now();
  run.workers()[1].kill();
  run.workers().erase(run.workers().begin() + 1);
  run.wait_for_notice(killed);
  run.wait_for_recovery();
  run.add_worker();
  run.wait_for_size(workers());
  run.wait_for_recovery();
  expect_outcome_of(run, job());
}

TEST_P(EveryPresetAmongProcesses, GoesOnWhenAWorkerIsStoppedForFiveSeconds) {
  FaultJob made = job();
  made.silence = kSilence;
  FaultRun run(made);
  run.begin();
  run.wait_for_size(workers());
  run.wait_for_step(20);
  const uint64_t epoch = run.epoch();
  const auto stopped = FaultClock::now();
  run.workers()[0].signal(SIGSTOP);
  run.wait_for_notice(stopped);
  run.wait_for_recovery();
  std::this_thread::sleep_until(stopped + kStopped);
  run.workers()[0].signal(SIGCONT);
  run.wait_for_epoch(epoch + 2);
  run.wait_for_size(workers());
  run.wait_for_recovery();
  expect_outcome_of(run, made);
}

}  // namespace
}  // namespace thalweg::testing
