// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "nn/detection/yolact_layers.h"

#include <map>

#include "thalweg/nn.h"
#include "thalweg/ops.h"

namespace thalweg::nn {
namespace {

Value* frozen_norm(const Scope& scope, Value* x, int64_t channels) {
  Value* scale = scope.parameter("weight", {channels}, init::ones());
  Value* shift = scope.parameter("bias", {channels}, init::zeros());
  Value* mean = scope.parameter("running_mean", {channels}, init::zeros());
  Value* variance = scope.parameter("running_var", {channels}, init::ones());
  mean->set_trainable(false);
  variance->set_trainable(false);
  return ops::batch_norm_inference(x, scale, shift, mean, variance, 1e-5, scope.path());
}

/// A convolution without bias and the norm behind it, called "conv" and "bn" with `number`.
Value* unit(const Scope& scope, const std::string& number, Value* x, int64_t in, int64_t out, int64_t kernel,
            int64_t stride = 1) {
  const ConvOptions options{.stride = stride, .padding = kernel / 2, .bias = false};
  Value* y = Conv2d(in, out, kernel, options).forward(scope.sub("conv" + number), x);
  return frozen_norm(scope.sub("bn" + number), y, out);
}

/// The stride is on the 3x3 convolution.
Value* bottleneck(const Scope& scope, Value* x, int64_t in, int64_t planes, int64_t stride) {
  Value* y = ops::relu(unit(scope, "1", x, in, planes, 1));
  y = ops::relu(unit(scope, "2", y, planes, planes, 3, stride));
  y = unit(scope, "3", y, planes, planes * 4, 1);
  if (stride != 1 || in != planes * 4) {
    const Scope side = scope.sub("downsample");
    x = Conv2d(in, planes * 4, 1, {.stride = stride, .bias = false}).forward(side.sub(0), x);
    x = frozen_norm(side.sub(1), x, planes * 4);
  }
  return ops::relu(ops::add(y, x));
}

}  // namespace

std::vector<FeatureMap> resnet_maps(const Scope& scope, Value* x, int64_t depth, int64_t width) {
  static const std::map<int64_t, std::vector<int64_t>> kDepths{
      {50, {3, 4, 6, 3}}, {101, {3, 4, 23, 3}}, {152, {3, 8, 36, 3}}};
  const auto found = kDepths.find(depth);
  scope.require(found != kDepths.end(), "ResNet", "there is no depth ", depth, "; known: 50, 101, 152");
  int64_t channels = 64 / width;
  x = Conv2d(3, channels, 7, {.stride = 2, .padding = 3, .bias = false}).forward(scope.sub("conv1"), x);
  x = ops::relu(frozen_norm(scope.sub("bn1"), x, channels));
  x = MaxPool2d(3, {.stride = 2, .padding = 1}).forward(scope.sub("maxpool"), x);
  std::vector<FeatureMap> maps;
  for (size_t stage = 0; stage < 4; ++stage) {
    const int64_t planes = (int64_t{64} << stage) / width;
    for (int64_t i = 0; i < found->second[stage]; ++i) {
      const Scope block = scope.sub("layers").sub(stage).sub(static_cast<size_t>(i));
      x = bottleneck(block, x, channels, planes, stage > 0 && i == 0 ? 2 : 1);
      channels = planes * 4;
    }
    if (stage > 0) maps.push_back({x, channels});
  }
  return maps;
}

std::vector<Value*> feature_pyramid(const Scope& scope, const std::vector<FeatureMap>& maps, int64_t channels) {
  const Conv2d smooth(channels, channels, 3, {.padding = 1});
  std::vector<Value*> pyramid(maps.size());
  Value* above = nullptr;
  // Layers are numbered from the smallest map on.
  for (size_t layer = 0; layer < maps.size(); ++layer) {
    const size_t place = maps.size() - 1 - layer;
    const FeatureMap& map = maps[place];
    Value* side = Conv2d(map.channels, channels, 1).forward(scope.sub("lat_layers").sub(layer), map.value);
    if (above != nullptr) {
      const std::vector<int64_t> size{map.value->shape()[2], map.value->shape()[3]};
      side = ops::add(ops::interpolate(above, size, "linear", "half_pixel"), side);
    }
    above = side;
    pyramid[place] = ops::relu(smooth.forward(scope.sub("pred_layers").sub(layer), side));
  }
  const Conv2d halve(channels, channels, 3, {.stride = 2, .padding = 1});
  for (size_t i = 0; i < 2; ++i) {
    pyramid.push_back(halve.forward(scope.sub("downsample_layers").sub(i), pyramid.back()));
  }
  return pyramid;
}

}  // namespace thalweg::nn
