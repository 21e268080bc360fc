// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/data/features.h"
#include "thalweg/data/transforms.h"

namespace thalweg::data {

/// What a model file says about its data, in metadata properties of ONNX, so that training and prediction cannot
/// differ.
struct ModelMetadata {
  /// From an image file to the model's input.
  std::optional<Pipeline> preprocessing = {};
  /// From columns of a table to those that the model's inputs are made of.
  std::optional<Features> features = {};
  /// Of each index of the last dimension of the model's first output; empty if it has none.
  std::vector<std::string> class_names = {};
};

/// The properties "thalweg.preprocessing" (Pipeline::to_json), "thalweg.features" (Features::to_json) and
/// "thalweg.class_names" (a JSON list), as Model::save takes them; what is not set is left out.
std::map<std::string, std::string> to_properties(const ModelMetadata& metadata);
/// The inverse. Other properties are ignored; an Error names one that cannot be read.
ModelMetadata metadata_from(const std::map<std::string, std::string>& properties);

}  // namespace thalweg::data
