// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Several workers train one network: `thalweg launch -n 2 -- train_group`. Started by itself, the program trains alone.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "thalweg/losses.h"
#include "thalweg/nn.h"
#include "thalweg/sync.h"
#include "thalweg/train.h"

using namespace thalweg;

/// Points of two spirals, which every worker makes alike.
data::TensorDataset spirals(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> along(0.3F, 3.0F);
  Tensor x(DType::kF32, {count, 2}), label(DType::kI64, {count});
  for (int64_t i = 0; i < count; ++i) {
    const float t = along(random);
    const float turn = 2 * t + (i % 2 == 0 ? 0.0F : 3.1416F);
    x.data<float>()[2 * i] = t * std::cos(turn) / 3;
    x.data<float>()[2 * i + 1] = t * std::sin(turn) / 3;
    label.data<int64_t>()[i] = i % 2;
  }
  return data::TensorDataset({x}, {label});
}

int main() {
  auto graph = std::make_unique<Graph>("spirals");
  Value* x = graph->input("x", {DType::kF32, {kFree, 2}});
  const nn::Sequential net{nn::Linear(2, 64), nn::Tanh(), nn::Linear(64, 64), nn::Tanh(), nn::Linear(64, 2)};
  graph->mark_output(net.forward(nn::Scope(*graph), x));
  Model model(std::move(graph));

  TrainOptions options;
  options.epochs = 15;
  options.batch_size = 64;  // of all workers together
  options.learning_rate = 0.01;
  options.metrics = {metrics::accuracy()};
  if (std::getenv("THALWEG_RENDEZVOUS") != nullptr) {
    options.scheme = sync::make_scheme({.name = "allreduce"}, comm::Group::join(comm::options_from_environment()));
  }
  Trainer trainer(model, losses::cross_entropy, optim::adam(), options);
  trainer.fit(spirals(2048, 1), spirals(512, 2));

  const double share = trainer.history().back().validation.at("accuracy");
  std::printf("%.1f%% of the points on the right spiral\n", 100 * share);
  return share > 0.97 ? 0 : 1;
}
