// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <map>

#include "nn/zoo/image.h"

namespace thalweg::zoo {
namespace {

/// Convolutions of each of the five stages.
const std::vector<int>& stages(int depth) {
  static const std::map<int, std::vector<int>> known = {
      {11, {1, 1, 2, 2, 2}}, {13, {2, 2, 2, 2, 2}}, {16, {2, 2, 3, 3, 3}}, {19, {2, 2, 4, 4, 4}}};
  const auto found = known.find(depth);
  TW_REQUIRE(found != known.end(), "vgg: there is no depth ", depth, "; known: 11, 13, 16, 19");
  return found->second;
}

nn::Sequential features(int depth, int64_t width) {
  constexpr int64_t kChannels[] = {64, 128, 256, 512, 512};
  nn::Sequential result;
  int64_t channels = 3;
  for (size_t stage = 0; stage < 5; ++stage) {
    for (int i = 0; i < stages(depth)[stage]; ++i) {
      const int64_t next = kChannels[stage] / width;
      result.add(nn::Conv2d(channels, next, 3, {.padding = 1})).add(nn::ReLU());
      channels = next;
    }
    result.add(nn::MaxPool2d(2, {.stride = 2}));
  }
  return result;
}

nn::Sequential classifier(const ImageOptions& options) {
  const int64_t hidden = 4096 / options.width;
  return nn::Sequential{
      nn::Linear(512 / options.width * 7 * 7, hidden),
      nn::ReLU(),
      nn::Dropout(options.dropout),
      nn::Linear(hidden, hidden),
      nn::ReLU(),
      nn::Dropout(options.dropout),
      nn::Linear(hidden, options.classes),
  };
}

}  // namespace

std::unique_ptr<Graph> vgg(int depth, const ImageOptions& options) {
  auto graph = std::make_unique<Graph>("vgg" + std::to_string(depth));
  Value* x = picture_input(*graph, options);
  const nn::Sequential model{
      {"features", features(depth, options.width)},
      {"avgpool", nn::AdaptiveAvgPool2d(7)},
      nn::Flatten(),
      {"classifier", classifier(options)},
  };
  graph->mark_output(model.forward(nn::Scope(*graph, options.seed), x), "output");
  return graph;
}

}  // namespace thalweg::zoo
