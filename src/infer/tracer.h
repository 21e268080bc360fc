// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "formats/onnx/importer.h"
#include "infer/graph_plan.h"
#include "runtime/variables.h"

namespace thalweg {

using Environment = std::unordered_map<std::string, Tensor>;

/// As much of an ONNX graph as can be compiled once the values in an environment are at hand.
struct Trace {
  std::unique_ptr<Graph> graph;
  /// Values of the environment that the graph takes, in the order of its inputs.
  std::vector<std::string> inputs;
  /// Values of the environment on whose content, not only type, the graph depends.
  std::vector<std::string> contents;
  /// Names of the graph's outputs, and results that are known already.
  std::vector<std::string> outputs;
  std::vector<std::pair<std::string, Tensor>> known;
  /// Nodes to execute one by one afterwards.
  std::vector<size_t> host_nodes;
  /// Nodes that need no more work once these are through.
  std::vector<bool> done;
};

/// Converts every node that can be converted yet. A node has to wait if an input, or an input's content, depends on
/// something that must run first: then what it waits for becomes an output.
class Tracer : private onnx::ValueSource {
 public:
  /// Initialisers that `variables` holds become parameters, others constants. `done` nodes are left out.
  Tracer(const onnx::ModelFile& model, const GraphPlan& plan, const Variables& variables,
         const Environment& environment, const std::vector<bool>& done);
  /// Throws an Error that lists the nodes which are not supported, or one that says that the graph cannot be ordered.
  Trace run();

 private:
  Value* define(const std::string& name, Graph& graph) override;
  Tensor content(const Value* value) override;

  void convert_nodes();
  void choose_host_nodes();
  void choose_outputs();
  bool is_given(const std::string& name) const;
  [[noreturn]] void fail_stuck() const;

  const onnx::ModelFile& model_;
  const GraphPlan& plan_;
  const Variables& variables_;
  const Environment& environment_;
  Trace trace_;
  onnx::Importer importer_;
  /// Nodes that no converter takes but a host op may.
  std::vector<bool> for_host_;
};

/// An initialiser that a Variables object holds: large enough to be worth rearranging for kernels.
bool is_weight(const onnx::TensorProto& tensor);

}  // namespace thalweg
