// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/nn.h"
#include "thalweg/zoo.h"

namespace thalweg::zoo {

/// The input of a model for pictures.
inline Value* picture_input(Graph& graph, const ImageOptions& options) {
  TW_REQUIRE(options.width >= 1, graph.name(), ": width is ", options.width, ", it must be at least 1");
  return graph.input("input", {DType::kF32, {kFree, 3, options.image_size, options.image_size}});
}

}  // namespace thalweg::zoo
