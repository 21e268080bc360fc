// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "bench/ddp_run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>

#include "bench/case_model.h"
#include "thalweg/losses.h"
#include "thalweg/sync.h"
#include "thalweg/zoo.h"

namespace thalweg::bench {
namespace {

constexpr int kAloneSteps = 6;

/// Batch k is what worker k has.
Tensor joined(const std::vector<Tensor>& parts) {
  std::vector<int64_t> dims = parts[0].shape().dims();
  dims[0] *= static_cast<int64_t>(parts.size());
  Tensor result(parts[0].dtype(), Shape(dims));
  auto* next = static_cast<std::byte*>(result.raw());
  for (const Tensor& part : parts) {
    next = std::copy_n(static_cast<const std::byte*>(part.raw()), part.num_bytes(), next);
  }
  return result;
}

/// The batches of so many workers, from number `first` on, one behind the other.
data::TensorDataset batches(const nlohmann::json& spec, int first, int count) {
  std::vector<Tensor> images, labels;
  for (int k = first; k < first + count; ++k) {
    const std::vector<Tensor> batch = make_batch(spec, k);
    images.push_back(batch.front());
    labels.push_back(batch.back());
  }
  return data::TensorDataset({joined(images)}, {joined(labels)});
}

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

/// Ends a run after a few steps, and keeps the time of the fastest.
struct Stopwatch : Callback {
  Trainer* trainer = nullptr;
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
  double fastest_ms = std::numeric_limits<double>::max();
  void on_step(const TrainState& state) override {
    const auto now = std::chrono::steady_clock::now();
    // The first steps compile and allocate.
    if (state.progress.iteration > 2) {
      fastest_ms = std::min(fastest_ms, std::chrono::duration<double, std::milli>(now - last).count());
    }
    last = now;
    if (state.progress.iteration == kAloneSteps) trainer->request_stop();
  }
};

}  // namespace

/// Lets the trainer, on its own thread, make one step whenever somebody asks for it.
class DdpRun::Turn : public Callback {
 public:
  double next() {
    go_.release();
    done_.acquire();
    TW_REQUIRE(error_.empty(), error_);
    return loss_;
  }
  void wait() { go_.acquire(); }
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

DdpRun::DdpRun(const std::string& name, const nlohmann::json& spec)
    : second_(std::make_unique<SecondProcess>(name)), group_(join_pair(name, second_->address())) {
  begin(spec);
}

DdpRun::DdpRun(const SecondProcess::Task& task, const nlohmann::json& spec)
    : group_(join_pair(task.name, task.address)) {
  begin(spec);
}

void DdpRun::measure_alone(const nlohmann::json& spec) {
  const data::TensorDataset data = batches(spec, group_->rank(), 1);
  const std::unique_ptr<Model> model = make_model(spec);
  const auto watch = std::make_shared<Stopwatch>();
  const auto trainer = make_trainer(*model, spec, data.size(), nullptr, watch);
  watch->trainer = trainer.get();
  group_->communicator().barrier().or_throw();
  trainer->fit(data);
  alone_ms_ = watch->fastest_ms;
  group_->communicator().barrier().or_throw();
}

void DdpRun::begin(const nlohmann::json& spec) {
  measure_alone(spec);
  turn_ = std::make_shared<Turn>();
  model_ = make_model(spec);
  auto data = std::make_shared<data::TensorDataset>(batches(spec, 0, 2));
  trainer_ = make_trainer(*model_, spec, data->size(), sync::make_scheme({.name = "allreduce"}, group_), turn_);
  thread_ = std::thread([this, data] {
    try {
      turn_->wait();
      trainer_->fit(*data);
    } catch (const std::exception& error) {
      turn_->fail(error.what());
    }
  });
}

DdpRun::~DdpRun() {
  second_.reset();
  turn_->end(*trainer_);
  thread_.join();
}

void DdpRun::announce(int steps) {
  int32_t count = steps;
  group_->communicator().broadcast(&count, sizeof count, group_->rank()).or_throw();
}

double DdpRun::step() { return turn_->next(); }

void DdpRun::serve(const SecondProcess::Task& task, const nlohmann::json& spec) {
  DdpRun run(task, spec);
  for (;;) {
    int32_t count = 0;
    run.group_->communicator().broadcast(&count, sizeof count, 1 - run.group_->rank()).or_throw();
    for (int32_t i = 0; i < count; ++i) run.step();
  }
}

}  // namespace thalweg::bench
