// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/error.h"
#include "thalweg/schedules.h"

namespace thalweg::optim {
namespace {

class Sequential : public Schedule {
 public:
  explicit Sequential(std::vector<Stage> stages) : stages_(std::move(stages)) {}

  double learning_rate(const Progress& progress) const override {
    Progress within = progress;
    return active(within).learning_rate(within);
  }

  void observe(const Progress& progress) override {
    Progress within = progress;
    active(within).observe(within);
  }

  std::vector<double> state() const override {
    std::vector<double> all;
    for (const Stage& stage : stages_) {
      const std::vector<double> one = stage.schedule->state();
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

  void restore(std::span<const double> state) override {
    const size_t expected = this->state().size();
    TW_REQUIRE(state.size() == expected, "schedule sequential: a checkpoint holds ", state.size(),
               " values instead of ", expected, "; it is from another schedule");
    for (const Stage& stage : stages_) {
      const size_t count = stage.schedule->state().size();
      stage.schedule->restore(state.first(count));
      state = state.subspan(count);
    }
  }

 private:
  /// The stage in force; makes the progress relative to its start.
  Schedule& active(Progress& progress) const {
    size_t index = 0;
    int64_t start = 0;
    while (index + 1 < stages_.size() && progress.iteration >= start + stages_[index].iterations) {
      start += stages_[index].iterations;
      ++index;
    }
    progress.iteration -= start;
    if (progress.iterations_per_epoch > 0) progress.epoch -= start / progress.iterations_per_epoch;
    return *stages_[index].schedule;
  }

  std::vector<Stage> stages_;
};

}  // namespace

SchedulePtr sequential(std::vector<Stage> stages) {
  TW_REQUIRE(!stages.empty(), "schedule sequential: no stages");
  for (size_t i = 0; i < stages.size(); ++i) {
    TW_REQUIRE(stages[i].schedule != nullptr, "schedule sequential: stage ", i, " is empty");
    TW_REQUIRE(stages[i].iterations > 0 || i + 1 == stages.size(), "schedule sequential: stage ", i, " lasts ",
               stages[i].iterations, " iterations");
  }
  return std::make_shared<Sequential>(std::move(stages));
}

}  // namespace thalweg::optim
