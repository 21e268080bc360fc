// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/rate_finder.h"

#include <cmath>

#include "thalweg/input_error.h"

namespace thalweg {
namespace {

/// Notes the loss of every step, and asks for the end once it has gone up for good.
class Recorder : public Callback {
 public:
  explicit Recorder(const RateFinderOptions& options) : options_(options) {}
  void watch(Trainer& trainer) { trainer_ = &trainer; }

  void on_step(const TrainState& state) override {
    const double share = options_.smoothing;
    mean_ = share * mean_ + (1 - share) * state.progress.loss;
    // Without this the first values would be too small by what the past before the start lacks.
    const double smoothed = mean_ / (1 - std::pow(share, static_cast<double>(curve.losses.size() + 1)));
    curve.rates.push_back(state.learning_rate);
    curve.losses.push_back(smoothed);
    lowest_ = std::min(lowest_, smoothed);
    if (smoothed > options_.give_up * lowest_) trainer_->request_stop();
  }

  RateCurve curve;

 private:
  RateFinderOptions options_;
  Trainer* trainer_ = nullptr;
  double mean_ = 0;
  double lowest_ = std::numeric_limits<double>::infinity();
};

/// By differences over a few steps: those of single ones are mostly noise.
double steepest(const RateCurve& curve) {
  const size_t distance = std::max<size_t>(1, curve.losses.size() / 10);
  double best = 0, rate = curve.rates.front();
  for (size_t i = 0; i + distance < curve.losses.size(); ++i) {
    const double change = curve.losses[i + distance] - curve.losses[i];
    if (change >= best) continue;
    best = change;
    rate = curve.rates[i + distance / 2];
  }
  return rate;
}

void require_sensible(const RateFinderOptions& finder) {
  TW_REQUIRE(finder.lowest > 0 && finder.highest > finder.lowest, "the rates to try, from ", finder.lowest, " to ",
             finder.highest, ", must be positive and grow");
  TW_REQUIRE(finder.steps >= 2, "to find a learning rate takes at least 2 steps, not ", finder.steps);
  TW_REQUIRE(finder.smoothing >= 0 && finder.smoothing < 1, "smoothing is ", finder.smoothing, ", must be in [0, 1)");
}

}  // namespace

RateCurve find_learning_rate(Model& model, const Loss& loss, optim::Optimizer optimizer, const data::Dataset& train,
                             const TrainOptions& options, const RateFinderOptions& finder) {
  require_sensible(finder);
  std::map<std::string, Tensor> weights;
  for (const std::string& name : model.weight_names()) weights[name] = model.weight(name);
  const auto recorder = std::make_shared<Recorder>(finder);

  TrainOptions test = options;
  test.schedule = optim::exponential(finder.lowest, finder.steps - 1, finder.highest / finder.lowest);
  test.end = optim::max_iteration(finder.steps);
  test.callbacks.push_back(recorder);
  test.checkpoints = {};
  test.early_stopping = {};
  test.tensorboard.clear();
  test.progress = ShowProgress::kNone;
  Trainer trainer(model, loss, std::move(optimizer), test);
  recorder->watch(trainer);
  try {
    trainer.fit(train);
  } catch (const InputError&) {
    model.set_weights(weights);
    throw;
  } catch (const Error&) {
    model.set_weights(weights);
    // A rate that is too high makes the loss infinite sooner or later, which is an end like others.
    if (recorder->curve.losses.size() < 2) throw;
  } catch (...) {
    model.set_weights(weights);
    throw;
  }
  model.set_weights(weights);
  recorder->curve.suggestion = steepest(recorder->curve);
  return recorder->curve;
}

}  // namespace thalweg
