// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "bench/ddp_run.h"

#include <algorithm>
#include <chrono>

#include "bench/case_model.h"
#include "thalweg/sync.h"

namespace thalweg::bench {
namespace {

/// The first steps compile and allocate.
constexpr int kAloneWarmup = 2;

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

/// What the first process tells the second.
struct Order {
  int32_t steps = 0;
  int32_t pairs = 0;
};

}  // namespace

DdpRun::DdpRun(const std::string& name, const nlohmann::json& spec)
    : spec_(spec), second_(std::make_unique<SecondProcess>(name)), group_(join_pair(name, second_->address())) {
  begin();
}

DdpRun::DdpRun(const SecondProcess::Task& task, const nlohmann::json& spec)
    : spec_(spec), group_(join_pair(task.name, task.address)) {
  begin();
}

void DdpRun::begin() {
  together_ =
      std::make_unique<SteppedTrainer>(spec_, batches(spec_, 0, 2), sync::make_scheme({.name = "allreduce"}, group_));
}

DdpRun::~DdpRun() = default;

void DdpRun::announce(int steps) {
  Order order{steps, 0};
  group_->communicator().broadcast(&order, sizeof order, group_->rank()).or_throw();
}

double DdpRun::step() { return together_->step(); }

DdpRun::Pairs DdpRun::run_pairs(int count) {
  Order order{count, 1};
  group_->communicator().broadcast(&order, sizeof order, group_->rank()).or_throw();
  return serve_pairs(count);
}

DdpRun::Pairs DdpRun::serve_pairs(int count) {
  if (alone_ == nullptr) {
    alone_ = std::make_unique<SteppedTrainer>(spec_, batches(spec_, group_->rank(), 1), nullptr);
    for (int i = 0; i < kAloneWarmup; ++i) alone_->step();
  }
  Pairs pairs;
  for (int i = 0; i < count; ++i) {
    pairs.together_ms.push_back(timed(*together_));
    pairs.alone_ms.push_back(timed(*alone_));
  }
  return pairs;
}

double DdpRun::timed(SteppedTrainer& trainer) {
  group_->communicator().barrier().or_throw();
  const auto begin = std::chrono::steady_clock::now();
  trainer.step();
  group_->communicator().barrier().or_throw();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

void DdpRun::serve(const SecondProcess::Task& task, const nlohmann::json& spec) {
  DdpRun run(task, spec);
  for (;;) {
    Order order;
    run.group_->communicator().broadcast(&order, sizeof order, 1 - run.group_->rank()).or_throw();
    if (order.pairs != 0) {
      run.serve_pairs(order.steps);
    } else {
      for (int32_t i = 0; i < order.steps; ++i) run.step();
    }
  }
}

}  // namespace thalweg::bench
