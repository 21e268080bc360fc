// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "formats/onnx/import_graph.h"
#include "graph/op_id.h"
#include "thalweg/model.h"

namespace thalweg {

/// A model from a file as a graph of standard operators that passes rewrite. Copies share the weights that they leave
/// as they are, which stay in the file until somebody needs them.
class EditedGraph {
 public:
  explicit EditedGraph(onnx::ImportedModel model);
  EditedGraph(const EditedGraph& other);
  EditedGraph(EditedGraph&&) = default;
  EditedGraph& operator=(const EditedGraph&) = delete;
  EditedGraph& operator=(EditedGraph&&) = default;

  Graph& graph() const { return *graph_; }
  const std::string& name() const { return source_->name; }
  int64_t opset() const { return opset_; }
  /// Nodes get the form that onnx::kUpgradedOpset asks for, or stay as they are: then it returns those that cannot.
  std::vector<std::string> upgrade();

  /// The f32 content of a parameter, state or constant; undefined if the value is none.
  Tensor weight(const Value* value) const;
  /// Whether `weight` gives one, without reading it.
  bool has_weight(const Value* value) const;

  /// Appends a node of the standard operator that stands for `op`, with inputs and attributes as files have them; gives
  /// its first output, which has the same name.
  Value* add(OpId op, std::vector<Value*> inputs, Attributes attrs, const std::string& name, size_t num_outputs = 1);
  /// Everybody, the outputs of the graph too, reads `to` in place of `from`, under the name that `from` had.
  void replace(Value* from, Value* to);
  /// Nodes that read `from` read `to`, but for those that make `to`.
  void redirect_readers(const Value* from, Value* to);
  /// True if one node reads the value, and it is no output.
  bool has_one_reader(const Value* value) const;
  /// Removes what nothing needs any more, and puts the nodes in order.
  void tidy();

  /// Sets a metadata property; an empty value removes it.
  void set_metadata(const std::string& key, const std::string& value);
  /// Bytes of the weights and constants that are read.
  uint64_t weight_bytes() const;
  /// The graph as it is now, for running.
  Model model(const InferenceOptions& options) const;
  void save(const std::string& path) const;

 private:
  /// The content of a parameter or state.
  Tensor content(const std::string& name) const;

  /// Without a graph: what all copies share.
  std::shared_ptr<const onnx::ImportedModel> source_;
  std::map<std::string, const StoredWeight*> stored_;
  std::unique_ptr<Graph> graph_;
  std::map<std::string, std::string> metadata_;
  int64_t opset_ = 0;
};

}  // namespace thalweg
