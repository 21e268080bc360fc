// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "thalweg/graph.h"

namespace thalweg::onnx {

/// The domain of nodes of our own ops, which only files for our own processes have.
inline constexpr const char* kOwnDomain = "ai.thalweg";
/// Ends the name of an attribute of such a node whose numbers are f64, in a tensor.
inline constexpr const char* kDoubleSuffix = "@f64";

/// What an ONNX file does not say of a model that is to be trained on, as a metadata property of the file: which
/// initialisers are weights and which of them are trained, and whether batch norms learn.
struct TrainingForm {
  static constexpr const char* kProperty = "thalweg.training";

  std::unordered_set<std::string> trained, frozen, states;
  /// State, and the value that it takes after each run.
  std::vector<std::pair<std::string, std::string>> assignments;
  bool batch_norms_learn = false;

  bool is_weight(const std::string& name) const { return trained.count(name) > 0 || frozen.count(name) > 0; }
  std::string to_text() const;
  /// Throws an Error that names the property if it is not what `to_text` writes.
  static TrainingForm from_text(const std::string& text);
};

}  // namespace thalweg::onnx
