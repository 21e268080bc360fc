// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "nn/zoo/image.h"

namespace thalweg::zoo {
namespace {

/// To the nearest multiple of 8, but not below nine tenths of what was asked.
int64_t whole_channels(int64_t channels) {
  const int64_t rounded = std::max<int64_t>(8, (channels + 4) / 8 * 8);
  return rounded * 10 < channels * 9 ? rounded + 8 : rounded;
}

nn::Sequential conv_norm_relu6(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1, int64_t groups = 1) {
  return {nn::Conv2d(in, out, kernel, {.stride = stride, .padding = kernel / 2, .groups = groups, .bias = false}),
          nn::BatchNorm2d(out), nn::ReLU6()};
}

/// Widens the channels, filters each by itself, and narrows them again; where the shape stays, x is added.
class InvertedResidual {
 public:
  InvertedResidual(int64_t in, int64_t out, int64_t stride, int64_t expansion) : adds_(stride == 1 && in == out) {
    const int64_t hidden = in * expansion;
    if (expansion != 1) branch_.add(conv_norm_relu6(in, hidden, 1));
    branch_.add(conv_norm_relu6(hidden, hidden, 3, stride, hidden));
    branch_.add(nn::Conv2d(hidden, out, 1, {.bias = false})).add(nn::BatchNorm2d(out));
  }

  Value* forward(const nn::Scope& scope, Value* x) const {
    Value* y = branch_.forward(scope.sub("conv"), x);
    return adds_ ? ops::add(x, y, scope.name("add")) : y;
  }

 private:
  bool adds_;
  nn::Sequential branch_;
};

struct Stage {
  int64_t expansion, channels, blocks, stride;
};
constexpr std::array<Stage, 7> kStages{
    {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}}};

}  // namespace

std::unique_ptr<Graph> mobilenet_v2(const ImageOptions& options) {
  auto graph = std::make_unique<Graph>("mobilenet_v2");
  Value* x = picture_input(*graph, options);
  int64_t channels = whole_channels(32 / options.width);
  nn::Sequential features{conv_norm_relu6(3, channels, 3, 2)};
  for (const Stage& stage : kStages) {
    const int64_t out = whole_channels(stage.channels / options.width);
    for (int64_t i = 0; i < stage.blocks; ++i) {
      features.add(InvertedResidual(channels, out, i == 0 ? stage.stride : 1, stage.expansion));
      channels = out;
    }
  }
  const int64_t last = 1280 / options.width;
  features.add(conv_norm_relu6(channels, last, 1));
  const nn::Sequential model{
      {"features", features},
      {"pool", nn::AdaptiveAvgPool2d(1)},
      {"flatten", nn::Flatten()},
      {"classifier", nn::Sequential{nn::Dropout(options.dropout), nn::Linear(last, options.classes)}},
  };
  graph->mark_output(model.forward(nn::Scope(*graph, options.seed), x), "output");
  return graph;
}

}  // namespace thalweg::zoo
