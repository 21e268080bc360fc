// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "thalweg/error.h"
#include "thalweg/schedules.h"

namespace thalweg::optim {
namespace {

class Plateau : public Schedule {
 public:
  Plateau(double rate, const PlateauOptions& options)
      : options_(options), rate_(rate), best_(options.higher_is_better ? -kInfinity : kInfinity) {}

  double learning_rate(const Progress&) const override { return rate_; }

  void observe(const Progress& progress) override {
    if (improves(progress.score)) {
      best_ = progress.score;
      without_improvement_ = 0;
    } else {
      ++without_improvement_;
    }
    if (cooldown_ > 0) {
      --cooldown_;
      without_improvement_ = 0;
    }
    if (without_improvement_ > options_.patience) {
      reduce();
      cooldown_ = options_.cooldown;
      without_improvement_ = 0;
    }
  }

  std::vector<double> state() const override {
    return {rate_, best_, static_cast<double>(without_improvement_), static_cast<double>(cooldown_)};
  }

  void restore(std::span<const double> state) override {
    TW_REQUIRE(state.size() == 4, "schedule plateau: a checkpoint holds ", state.size(),
               " values instead of 4; it is from another schedule");
    rate_ = state[0];
    best_ = state[1];
    without_improvement_ = static_cast<int64_t>(state[2]);
    cooldown_ = static_cast<int64_t>(state[3]);
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  bool improves(double score) const {
    if (std::isinf(best_)) return options_.higher_is_better ? score > best_ : score < best_;
    const double margin = options_.relative_threshold ? best_ * options_.threshold : options_.threshold;
    return options_.higher_is_better ? score > best_ + margin : score < best_ - margin;
  }

  void reduce() {
    constexpr double kNegligible = 1e-8;  // PyTorch's
    const double lower = std::max(rate_ * options_.factor, options_.lowest);
    if (rate_ - lower > kNegligible) rate_ = lower;
  }

  PlateauOptions options_;
  double rate_;
  double best_;
  int64_t without_improvement_ = 0;
  int64_t cooldown_ = 0;
};

}  // namespace

SchedulePtr plateau(double rate, const PlateauOptions& options) {
  TW_REQUIRE(rate >= 0.0 && std::isfinite(rate), "schedule plateau: the learning rate is ", rate);
  TW_REQUIRE(options.factor > 0.0 && options.factor < 1.0, "schedule plateau: factor is ", options.factor,
             ", must lie between 0 and 1");
  TW_REQUIRE(options.patience >= 0 && options.cooldown >= 0,
             "schedule plateau: patience and cooldown must not be negative");
  return std::make_shared<Plateau>(rate, options);
}

}  // namespace thalweg::optim
