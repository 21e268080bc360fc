// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Every worker trains by itself; now and then all take the mean of their weights.
#include <cstring>

#include "sync/schemes.h"

namespace thalweg::sync {
namespace {

class LocalSgd : public GroupScheme {
 public:
  LocalSgd(std::shared_ptr<comm::Group> group, const SchemeOptions& options)
      : GroupScheme(std::move(group), options), period_(options.period) {
    TW_REQUIRE(period_ >= 1, "localsgd averages the weights every ", period_, " steps: at least 1");
  }

  bool exchanges_gradients() const override { return false; }

  std::vector<GradientView> finish_gradients(StepTotals& totals) override {
    averages_now_ = (trainee_->iteration() + 1) % period_ == 0;
    // In between each worker knows only of itself, and nobody stops alone.
    if (averages_now_) {
      note(exchange_totals(totals));
    } else {
      totals.stop = false;
    }
    return {};
  }

  bool in_lockstep() const override { return averages_now_ && !noted_failure(); }

  void after_update() override {
    if (averages_now_ && !noted_failure()) note(average());
  }

 protected:
  void prepare(Trainee& trainee) override { trainee_ = &trainee; }
  comm::Status last_exchange() override {
    const auto lock = trainee_->lock_weights();
    return average();
  }

 private:
  /// Changes nothing if it fails.
  comm::Status average() {
    mean_.clear();
    Variables& variables = trainee_->variables();
    const auto share = static_cast<float>(1.0 / group().size());
    for (const TrainedVariable& entry : trainee_->trained()) {
      const auto* values = static_cast<const float*>(variables.data(entry.variable));
      for (size_t i = 0; i < entry.num_floats; ++i) mean_.push_back(values[i] * share);
    }
    if (comm::Status status = communicator().all_reduce(mean_.data(), mean_.size(), DType::kF32); !status)
      return status;
    const float* next = mean_.data();
    for (const TrainedVariable& entry : trainee_->trained()) {
      std::memcpy(variables.data(entry.variable), next, entry.num_floats * sizeof(float));
      next += entry.num_floats;
    }
    variables.touch();
    return {};
  }

  int period_;
  Trainee* trainee_ = nullptr;
  bool averages_now_ = false;
  std::vector<float> mean_;
};

}  // namespace

std::shared_ptr<Scheme> make_localsgd(const SchemeOptions& options, std::shared_ptr<comm::Group> group) {
  TW_REQUIRE(options.compression == Compression::kNone, "localsgd exchanges weights, which are not compressed");
  return std::make_shared<LocalSgd>(std::move(group), options);
}

}  // namespace thalweg::sync
