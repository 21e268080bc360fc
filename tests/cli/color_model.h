// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "formats/onnx/small_model.h"
#include "support/temporary_directory.h"
#include "thalweg/data/metadata.h"

namespace thalweg::testing {

/// y f32 [batch, 3] = the mean of each channel of x f32 [batch, 3, 4, 4]; its metadata say how an image becomes x, and
/// that the classes are red, green and blue. A batch of -1 is free.
inline onnx::ModelProto color_model(int64_t batch) {
  onnx::ModelProto model = small_model();
  model.graph.initializer.clear();
  model.graph.input = {value_info("x", {batch, 3, 4, 4})};
  model.graph.output = {value_info("y", {batch, 3})};
  model.graph.node = {{"mean", "GlobalAveragePool", "", "", {"x"}, {"m"}, {}},
                      {"flat", "Flatten", "", "", {"m"}, {"y"}, {}}};
  data::ModelMetadata metadata;
  metadata.preprocessing = data::Pipeline({data::Resize{4, 4, data::Interpolation::kArea}}, {{0}, {1}});
  metadata.class_names = {"red", "green", "blue"};
  const auto properties = data::to_properties(metadata);
  model.metadata_props.assign(properties.begin(), properties.end());
  return model;
}

}  // namespace thalweg::testing
