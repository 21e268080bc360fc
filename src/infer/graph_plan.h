// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "formats/onnx/model_file.h"

namespace thalweg {

/// What is known about an ONNX graph before any shape is: who reads what, and whether everything is supported.
struct GraphPlan {
  explicit GraphPlan(const onnx::GraphProto& graph);

  const onnx::GraphProto& graph;
  /// Declared inputs that are no initialisers.
  std::vector<const onnx::ValueInfoProto*> inputs;
  /// What each node reads: its inputs, and what graphs in its attributes read from outside.
  std::vector<std::vector<std::string>> reads;
  /// What the graph reads that nothing in it makes: values of the graphs around it. Empty for a whole model, or it is
  /// broken.
  std::vector<std::string> captures;
  std::unordered_map<std::string, const onnx::TensorProto*> initializers;
};

/// Throws one Error that lists every node of the model, with those of graphs inside, for which there is no operator.
void require_supported(const onnx::ModelFile& model);

/// The error for nodes that could not be converted: all of them, a line each.
struct UnsupportedNodes {
  std::vector<std::string> lines;
  void add(const onnx::NodeProto& node, const std::string& reason);
  [[noreturn]] void raise_error(const std::string& where) const;
};

}  // namespace thalweg
