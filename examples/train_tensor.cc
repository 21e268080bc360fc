// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The smallest whole program: a network learns to tell points inside a circle from those outside.
#include <cstdio>
#include <random>

#include "thalweg/data.h"
#include "thalweg/losses.h"
#include "thalweg/nn.h"
#include "thalweg/train.h"

using namespace thalweg;

data::TensorDataset points(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> coordinate(-1, 1);
  Tensor x(DType::kF32, {count, 2}), label(DType::kI64, {count});
  for (int64_t i = 0; i < count; ++i) {
    float* p = x.data<float>() + 2 * i;
    p[0] = coordinate(random);
    p[1] = coordinate(random);
    label.data<int64_t>()[i] = p[0] * p[0] + p[1] * p[1] < 0.6F ? 1 : 0;
  }
  return data::TensorDataset({x}, {label});
}

int main() {
  auto graph = std::make_unique<Graph>("circle");
  Value* x = graph->input("x", {DType::kF32, {kFree, 2}});
  const nn::Sequential net{nn::Linear(2, 32), nn::ReLU(), nn::Linear(32, 32), nn::ReLU(), nn::Linear(32, 2)};
  graph->mark_output(net.forward(nn::Scope(*graph), x));

  Model model(std::move(graph));
  Trainer trainer(model, losses::cross_entropy, optim::adam(),
                  {.epochs = 20, .batch_size = 64, .learning_rate = 0.01, .metrics = {metrics::accuracy()}});
  trainer.fit(points(4096, 1), points(1024, 2));
  model.save_weights("circle.safetensors");

  const double share = trainer.history().back().validation.at("accuracy");
  std::printf("%.1f%% of the points on the right side\n", 100 * share);
  return share > 0.97 ? 0 : 1;
}
