// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "bench/stepped_trainer.h"

#include <atomic>
#include <limits>
#include <semaphore>

#include "bench/case_model.h"
#include "thalweg/losses.h"
#include "thalweg/zoo.h"

namespace thalweg::bench {
namespace {

std::unique_ptr<Model> make_model(const nlohmann::json& spec) {
  std::unique_ptr<Graph> graph = zoo::build(spec.at("model"), model_options(spec));
  nn::deterministic_initialise(*graph);
  return std::make_unique<Model>(std::move(graph));
}

std::unique_ptr<Trainer> make_trainer(Model& model, const nlohmann::json& spec, int64_t batch_size,
                                      std::shared_ptr<Scheme> scheme, std::shared_ptr<Callback> callback) {
  TrainOptions options;
  options.batch_size = batch_size;
  options.shuffle = false;
  options.threads = 1;
  options.learning_rate = spec.at("lr");
  options.end = optim::max_iteration(std::numeric_limits<int64_t>::max());
  options.progress = ShowProgress::kNone;
  options.scheme = std::move(scheme);
  options.callbacks = {std::move(callback)};
  return std::make_unique<Trainer>(model, losses::cross_entropy, optim::sgd({.momentum = spec.value("momentum", 0.9)}),
                                   options);
}

}  // namespace

class SteppedTrainer::Turn : public Callback {
 public:
  double next() {
    go_.release();
    done_.acquire();
    TW_REQUIRE(error_.empty(), error_);
    return loss_;
  }
  /// False if there is to be no other step.
  bool wait() {
    go_.acquire();
    return !ending_;
  }
  void fail(const std::string& error) {
    error_ = error;
    done_.release();
  }
  void end(Trainer& trainer) {
    trainer.request_stop();
    ending_ = true;
    go_.release();
  }
  void on_step(const TrainState& state) override {
    loss_ = state.progress.loss;
    done_.release();
    if (!ending_) wait();
  }

 private:
  std::binary_semaphore go_{0}, done_{0};
  std::atomic<bool> ending_{false};
  double loss_ = 0;
  std::string error_;
};

SteppedTrainer::SteppedTrainer(const nlohmann::json& spec, const data::TensorDataset& data,
                               std::shared_ptr<Scheme> scheme)
    : turn_(std::make_shared<Turn>()),
      model_(make_model(spec)),
      trainer_(make_trainer(*model_, spec, data.size(), std::move(scheme), turn_)) {
  thread_ = std::thread([this, data] {
    try {
      if (turn_->wait()) trainer_->fit(data);
    } catch (const std::exception& error) {
      turn_->fail(error.what());
    }
  });
}

SteppedTrainer::~SteppedTrainer() {
  turn_->end(*trainer_);
  thread_.join();
}

double SteppedTrainer::step() { return turn_->next(); }

}  // namespace thalweg::bench
