// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "nn/zoo/image.h"

namespace thalweg::zoo {
namespace {

nn::Sequential features(int64_t width) {
  const auto c = [width](int64_t channels) { return channels / width; };
  const nn::MaxPool2d pool(3, {.stride = 2});
  return nn::Sequential{
      nn::Conv2d(3, c(64), 11, {.stride = 4, .padding = 2}),
      nn::ReLU(),
      pool,
      nn::Conv2d(c(64), c(192), 5, {.padding = 2}),
      nn::ReLU(),
      pool,
      nn::Conv2d(c(192), c(384), 3, {.padding = 1}),
      nn::ReLU(),
      nn::Conv2d(c(384), c(256), 3, {.padding = 1}),
      nn::ReLU(),
      nn::Conv2d(c(256), c(256), 3, {.padding = 1}),
      nn::ReLU(),
      pool,
  };
}

nn::Sequential classifier(const ImageOptions& options) {
  const int64_t hidden = 4096 / options.width;
  return nn::Sequential{
      nn::Dropout(options.dropout),
      nn::Linear(256 / options.width * 6 * 6, hidden),
      nn::ReLU(),
      nn::Dropout(options.dropout),
      nn::Linear(hidden, hidden),
      nn::ReLU(),
      nn::Linear(hidden, options.classes),
  };
}

}  // namespace

std::unique_ptr<Graph> alexnet(const ImageOptions& options) {
  auto graph = std::make_unique<Graph>("alexnet");
  Value* x = picture_input(*graph, options);
  const nn::Sequential model{
      {"features", features(options.width)},
      {"avgpool", nn::AdaptiveAvgPool2d(6)},
      nn::Flatten(),
      {"classifier", classifier(options)},
  };
  graph->mark_output(model.forward(nn::Scope(*graph, options.seed), x), "output");
  return graph;
}

}  // namespace thalweg::zoo
