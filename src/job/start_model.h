// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>

#include "job/settings.h"
#include "thalweg/graph.h"

namespace thalweg::job {

/// The model that a training begins with, in training form.
struct StartModel {
  std::unique_ptr<Graph> graph;
  /// What its file says of its data, such as preprocessing and class names; empty for a model of the zoo. The file of
  /// the trained model says it too, where the training does not know better (`with_metadata_of`).
  std::map<std::string, std::string> metadata;
};

/// The zoo's model "zoo:NAME", whose options, which the section "model" of the settings has, it takes; or the model of
/// an ONNX file, whose batch norms are trained as model.train_batch_norm says.
StartModel start_model(const std::string& source, Settings& settings);

/// What the trained model's file has to say: `own`, and what the start model says besides.
std::map<std::string, std::string> with_metadata_of(const StartModel& start, std::map<std::string, std::string> own);

}  // namespace thalweg::job
