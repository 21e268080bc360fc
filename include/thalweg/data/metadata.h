// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/data/features.h"
#include "thalweg/data/image_folder.h"
#include "thalweg/data/text.h"

namespace thalweg::data {

/// What a model file says about its data, in metadata properties of ONNX, so that training and prediction cannot
/// differ.
struct ModelMetadata {
  /// From an image file to the model's input, with nothing left to chance: Pipeline::for_prediction is what is written
  /// and read.
  std::optional<Pipeline> preprocessing = {};
  /// From a line of text to the model's input.
  std::optional<TextPreprocessing> text = {};
  /// From columns of a table to those that the model's inputs are made of.
  std::optional<Features> features = {};
  /// Of each input of the model, after the features; empty if nobody said.
  std::vector<std::vector<std::string>> columns = {};
  /// Of each index of the last dimension of the model's first output; empty if it has none.
  std::vector<std::string> class_names = {};
};

/// What a model that was trained on these has to say: of images and lines of text, also in part (Subset, Shard), mixed
/// (Concat, Mix) or kept (Cached), as far as all sources say the same; nothing of other samples.
ModelMetadata metadata_of(const Dataset& samples);

/// The properties "thalweg.preprocessing" (Pipeline::to_json), "thalweg.text" (TextPreprocessing::to_json),
/// "thalweg.features" (Features::to_json), "thalweg.columns" (a JSON list of lists of names) and "thalweg.class_names"
/// (a JSON list), as Model::save takes them; what is not set is left out.
std::map<std::string, std::string> to_properties(const ModelMetadata& metadata);
/// The inverse. Other properties are ignored; an Error names one that cannot be read.
ModelMetadata metadata_from(const std::map<std::string, std::string>& properties);

}  // namespace thalweg::data
