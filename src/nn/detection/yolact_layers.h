// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/nn/scope.h"

namespace thalweg::nn {

/// A map and its channels.
struct FeatureMap {
  Value* value = nullptr;
  int64_t channels = 0;
};

/// The maps of a ResNet's last three stages, with statistics of batch norms that stay as they are.
std::vector<FeatureMap> resnet_maps(const Scope& scope, Value* x, int64_t depth, int64_t width);

/// A pyramid of five maps with `channels` each: three from those given, two more that are each half as large.
std::vector<Value*> feature_pyramid(const Scope& scope, const std::vector<FeatureMap>& maps, int64_t channels);

}  // namespace thalweg::nn
