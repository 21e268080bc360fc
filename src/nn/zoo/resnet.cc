// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <map>

#include "nn/zoo/image.h"

namespace thalweg::zoo {
namespace {

struct Architecture {
  std::vector<int64_t> depths;
  bool bottleneck;
};

const Architecture& architecture(int depth) {
  static const std::map<int, Architecture> known = {{18, {{2, 2, 2, 2}, false}},
                                                    {34, {{3, 4, 6, 3}, false}},
                                                    {50, {{3, 4, 6, 3}, true}},
                                                    {101, {{3, 4, 23, 3}, true}},
                                                    {152, {{3, 8, 36, 3}, true}}};
  const auto found = known.find(depth);
  TW_REQUIRE(found != known.end(), "resnet: there is no depth ", depth, "; known: 18, 34, 50, 101, 152");
  return found->second;
}

nn::Conv2d conv(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1) {
  return {in, out, kernel, {.stride = stride, .padding = kernel / 2, .bias = false}};
}

/// The v1.5 block: the stride is on the 3x3 convolution.
nn::Sequential bottleneck_branch(int64_t in, int64_t planes, int64_t stride) {
  return nn::Sequential{
      {"conv1", conv(in, planes, 1)},
      {"bn1", nn::BatchNorm2d(planes)},
      nn::ReLU(),
      {"conv2", conv(planes, planes, 3, stride)},
      {"bn2", nn::BatchNorm2d(planes)},
      nn::ReLU(),
      {"conv3", conv(planes, 4 * planes, 1)},
      {"bn3", nn::BatchNorm2d(4 * planes)},
  };
}

nn::Sequential basic_branch(int64_t in, int64_t planes, int64_t stride) {
  return nn::Sequential{
      {"conv1", conv(in, planes, 3, stride)}, {"bn1", nn::BatchNorm2d(planes)}, nn::ReLU(),
      {"conv2", conv(planes, planes, 3)},     {"bn2", nn::BatchNorm2d(planes)},
  };
}

/// relu(branch(x) + x), where x is brought to the branch's shape if it has another.
class Block {
 public:
  Block(int64_t in, int64_t planes, int64_t stride, bool bottleneck)
      : branch_(bottleneck ? bottleneck_branch(in, planes, stride) : basic_branch(in, planes, stride)) {
    const int64_t out = bottleneck ? 4 * planes : planes;
    if (stride != 1 || in != out) downsample_ = {conv(in, out, 1, stride), nn::BatchNorm2d(out)};
  }

  Value* forward(const nn::Scope& scope, Value* x) const {
    Value* identity = downsample_.size() > 0 ? downsample_.forward(scope.sub("downsample"), x) : x;
    return ops::relu(ops::add(branch_.forward(scope, x), identity, scope.name("add")), scope.name("relu"));
  }

 private:
  nn::Sequential branch_;
  nn::Sequential downsample_;
};

}  // namespace

std::unique_ptr<Graph> resnet(int depth, const ImageOptions& options) {
  const Architecture& shape = architecture(depth);
  auto graph = std::make_unique<Graph>("resnet" + std::to_string(depth));
  Value* x = picture_input(*graph, options);
  int64_t channels = 64 / options.width;
  nn::Sequential model{
      {"conv1", nn::Conv2d(3, channels, 7, {.stride = 2, .padding = 3, .bias = false})},
      {"bn1", nn::BatchNorm2d(channels)},
      nn::ReLU(),
      {"maxpool", nn::MaxPool2d(3, {.stride = 2, .padding = 1})},
  };
  for (size_t stage = 0; stage < 4; ++stage) {
    const int64_t planes = (int64_t{64} << stage) / options.width;
    nn::Sequential blocks;
    for (int64_t i = 0; i < shape.depths[stage]; ++i) {
      blocks.add(Block(channels, planes, stage > 0 && i == 0 ? 2 : 1, shape.bottleneck));
      channels = shape.bottleneck ? 4 * planes : planes;
    }
    model.add({"layer" + std::to_string(stage + 1), blocks});
  }
  model.add({"avgpool", nn::AdaptiveAvgPool2d(1)}).add(nn::Flatten());
  model.add({"fc", nn::Linear(channels, options.classes)});
  graph->mark_output(model.forward(nn::Scope(*graph, options.seed), x), "output");
  return graph;
}

}  // namespace thalweg::zoo
