// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <future>

#include "support/op_check.h"
#include "support/patience.h"
#include "thalweg/ops.h"
#include "thalweg/safetensors.h"
#include "thalweg/sync.h"
#include "train/small_models.h"

namespace thalweg::testing {

/// Two layers without anything random, and a state that follows the inputs.
inline std::unique_ptr<Graph> two_layers(int64_t hidden = 40) {
  auto graph = std::make_unique<Graph>("two_layers");
  const auto parameter = [&](const std::string& name, const Shape& shape, uint64_t seed, double most = 0.5) {
    return graph->parameter(name, random_tensor(DType::kF32, shape, seed, -most, most));
  };
  Value* x = graph->input("x", {DType::kF32, {kFree, 12}});
  Value* h =
      ops::relu(ops::linear(x, parameter("first.weight", {hidden, 12}, 1), parameter("first.bias", {hidden}, 2)));
  Value* second = parameter("second.weight", {3, hidden}, 3, 20.0 / static_cast<double>(hidden));
  graph->mark_output(ops::linear(h, second, parameter("second.bias", {3}, 4)));
  Value* seen = graph->state("seen", Tensor::zeros(DType::kF32, {12}));
  graph->assign(seen, ops::add(ops::mul(seen, 0.9), ops::reduce_mean(x, {0})));
  return graph;
}

/// An embedding table, whose gradients are sparse, and a layer.
inline std::unique_ptr<Graph> table_and_layer() {
  auto graph = std::make_unique<Graph>("table_and_layer");
  Value* words = graph->input("words", {DType::kI64, {kFree, 3}});
  Value* table = graph->parameter("table", random_tensor(DType::kF32, {29, 5}, 1, -0.5, 0.5));
  Value* mean = ops::reduce_mean(ops::embedding(table, words), {1});
  Value* weight = graph->parameter("weight", random_tensor(DType::kF32, {2, 5}, 2, -0.5, 0.5));
  graph->mark_output(ops::linear(mean, weight, graph->parameter("bias", Tensor::zeros(DType::kF32, {2}))));
  return graph;
}

inline data::TensorDataset two_layers_data(int64_t rows) {
  Tensor x = random_tensor(DType::kF32, {rows, 12}, 21);
  Tensor y(DType::kF32, {rows, 3});
  for (int64_t i = 0; i < rows * 3; ++i) y.data<float>()[i] = x.data<float>()[i / 3 * 12 + i % 3] * 0.5F;
  return data::TensorDataset({x}, {y});
}

inline TrainOptions group_train_options() {
  TrainOptions options;
  options.epochs = 3;
  options.batch_size = 64;
  options.threads = 1;
  options.learning_rate = 0.05;
  options.seed = 5;
  options.progress = ShowProgress::kNone;
  return options;
}

/// The group forms when `most` workers have come, however long that takes; from then on it goes on with `least`. Nobody
/// is lost for being slow: the ends of threads and processes are told by their connections.
inline comm::RendezvousOptions quiet_rendezvous(int least, int most) {
  comm::RendezvousOptions options;
  options.secret = "secret";
  options.min_size = least;
  options.max_size = most;
  options.settle = options.silence = options.return_timeout = patience();
  options.log = [](const std::string&) {};
  return options;
}

/// The group forms when `first` workers have come, and takes in more, up to `most`, later.
inline comm::RendezvousOptions open_rendezvous(int first, int most) {
  comm::RendezvousOptions options = quiet_rendezvous(first, most);
  options.settle = std::chrono::seconds(0);
  return options;
}

/// Adam whose steps follow small gradients smoothly: by default it makes a difference of the last bit in a gradient
/// near 0, which depends on who has added up what, one of the whole step.
inline optim::Optimizer smooth_adam() { return optim::adam({.epsilon = 1e-2}); }

inline comm::GroupOptions member_of(const std::string& address, comm::Path path = comm::Path::kAuto) {
  comm::GroupOptions options;
  options.rendezvous = address;
  options.secret = "secret";
  options.path = path;
  return options;
}

inline std::vector<NamedTensor> weights_of(const Model& model) {
  std::vector<NamedTensor> result;
  for (const std::string& name : model.weight_names()) result.push_back({name, model.weight(name)});
  return result;
}

/// Without the state, which follows the samples that a worker itself has seen.
inline std::vector<NamedTensor> parameters_of(const Model& model) {
  std::vector<NamedTensor> result = weights_of(model);
  std::erase_if(result, [](const NamedTensor& entry) { return entry.name == "seen"; });
  return result;
}

/// The largest difference between two sets of weights, which have the same names and sizes; not a number if a weight is
/// none.
inline double difference(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b) {
  TW_REQUIRE(!a.empty() && a.size() == b.size(), "sets of ", a.size(), " and ", b.size(), " weights are compared");
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    TW_REQUIRE(a[i].name == b[i].name, a[i].name, " is compared with ", b[i].name);
    const std::vector<float> left = floats(a[i].tensor), right = floats(b[i].tensor);
    TW_REQUIRE(!left.empty() && left.size() == right.size(), a[i].name, " has ", left.size(), " and ", right.size(),
               " elements");
    for (size_t k = 0; k < left.size(); ++k) {
      const double now = std::abs(static_cast<double>(left[k]) - static_cast<double>(right[k]));
      if (std::isnan(now)) return now;
      largest = std::max(largest, now);
    }
  }
  return largest;
}

/// The parameters of every worker after training, workers being threads of this process.
inline std::vector<std::vector<NamedTensor>> train_in_threads(int workers, const sync::SchemeOptions& scheme,
                                                              const TrainOptions& options, const data::Dataset& data,
                                                              comm::Path path = comm::Path::kAuto) {
  const comm::Rendezvous rendezvous(quiet_rendezvous(workers, workers));
  std::vector<std::future<std::vector<NamedTensor>>> pending;
  for (int i = 0; i < workers; ++i) {
    pending.push_back(std::async(std::launch::async, [&] {
      Model model(two_layers());
      TrainOptions own = options;
      own.scheme = sync::make_scheme(scheme, comm::Group::join(member_of(rendezvous.address(), path)));
      Trainer trainer(model, squared_error(), optim::sgd({.momentum = 0.9}), own);
      trainer.fit(data);
      return weights_of(model);
    }));
  }
  std::vector<std::vector<NamedTensor>> results;
  for (auto& entry : pending) results.push_back(entry.get());
  return results;
}

}  // namespace thalweg::testing
