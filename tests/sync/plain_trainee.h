// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "thalweg/graph.h"
#include "train/scheme.h"

namespace thalweg::testing {

/// Parameters and an optimiser without a trainer or anything to compute: for tests of what schemes consist of.
class PlainTrainee : public Trainee {
 public:
  /// Parameters of so many elements, all zero.
  explicit PlainTrainee(const std::vector<int64_t>& sizes)
      : PlainTrainee(shapes_of(sizes), optim::sgd({.momentum = 0.9})) {}
  PlainTrainee(const std::vector<Shape>& shapes, optim::Optimizer optimizer)
      : graph_("plain"), variables_(with_parameters(graph_, shapes)), optimizer_(std::move(optimizer)) {
    for (size_t i = 0; i < shapes.size(); ++i) {
      const std::string name = "parameter" + std::to_string(i);
      const int64_t size = shapes[i].num_elements();
      optimizer_.add_parameter(name, size);
      trained_.push_back({variables_.index(name), static_cast<size_t>(size), false, 1});
    }
  }
  /// That the test has completed.
  int64_t steps = 0;

  Variables& variables() override { return variables_; }
  const Variables& variables() const { return variables_; }
  const std::vector<TrainedVariable>& trained() const override {
    count_call();
    return trained_;
  }
  int64_t iteration() const override { return steps; }
  optim::Optimizer& updater() override {
    TW_REQUIRE(!updater_fails || on_own_thread(), "injected: no memory for the update");
    return optimizer_;
  }
  size_t updater_index(size_t variable) const override {
    count_call();
    for (size_t i = 0; i < trained_.size(); ++i) {
      if (trained_[i].variable == variable) return i;
    }
    raise("no such variable");
  }
  double learning_rate() const override { return 0.1; }
  double clip_norm() const override { return 0; }
  std::unique_lock<std::shared_mutex> lock_weights() override { return std::unique_lock<std::shared_mutex>(mutex_); }
  Checkpoint snapshot() override { return {}; }
  void restore(const Checkpoint& /*snapshot*/) override {}
  bool lacks_checkpoint() const override { return false; }

  /// Whether threads other than the one that made it get an error in place of the optimiser.
  std::atomic<bool> updater_fails{false};
  /// How often another thread asked for what the one that trains may replace at any time.
  int asked_by_others() const { return asked_by_others_; }

 private:
  static std::vector<Shape> shapes_of(const std::vector<int64_t>& sizes) {
    std::vector<Shape> shapes;
    for (const int64_t size : sizes) shapes.push_back(Shape{size});
    return shapes;
  }
  static Graph& with_parameters(Graph& graph, const std::vector<Shape>& shapes) {
    for (size_t i = 0; i < shapes.size(); ++i) {
      graph.parameter("parameter" + std::to_string(i), Tensor::zeros(DType::kF32, shapes[i]));
    }
    return graph;
  }
  bool on_own_thread() const { return std::this_thread::get_id() == owner_; }
  void count_call() const {
    if (!on_own_thread()) ++asked_by_others_;
  }

  const std::thread::id owner_ = std::this_thread::get_id();
  Graph graph_;
  Variables variables_;
  optim::Optimizer optimizer_;
  std::vector<TrainedVariable> trained_;
  std::shared_mutex mutex_;
  mutable std::atomic<int> asked_by_others_{0};
};

}  // namespace thalweg::testing
