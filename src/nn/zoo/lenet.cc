// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/nn.h"
#include "thalweg/zoo.h"

namespace thalweg::zoo {

std::unique_ptr<Graph> lenet(const LeNetOptions& options) {
  auto graph = std::make_unique<Graph>("lenet");
  const nn::Sequential layers{
      {"conv1", nn::Conv2d(1, 6, 5, {.padding = 2})},
      nn::ReLU(),
      nn::MaxPool2d(2),
      {"conv2", nn::Conv2d(6, 16, 5)},
      nn::ReLU(),
      nn::MaxPool2d(2),
      nn::Flatten(),
      {"fc1", nn::Linear(16 * 5 * 5, 120)},
      nn::ReLU(),
      {"fc2", nn::Linear(120, 84)},
      nn::ReLU(),
      {"fc3", nn::Linear(84, options.classes)},
  };
  Value* x = graph->input("input", {DType::kF32, {kFree, 1, 28, 28}});
  graph->mark_output(layers.forward(nn::Scope(*graph, options.seed), x), "output");
  return graph;
}

}  // namespace thalweg::zoo
