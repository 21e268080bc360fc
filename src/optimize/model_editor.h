// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "formats/onnx/model_file.h"

namespace thalweg {

/// A copy of an ONNX model that can be changed. Weights that are not touched stay where the original has them.
class ModelEditor {
 public:
  explicit ModelEditor(std::shared_ptr<const onnx::ModelFile> source);
  ModelEditor(const ModelEditor& other);
  ModelEditor(ModelEditor&&) = default;
  ModelEditor& operator=(const ModelEditor&) = delete;
  ModelEditor& operator=(ModelEditor&&) = default;

  onnx::GraphProto& graph() { return model_->proto.graph; }
  const onnx::GraphProto& graph() const { return model_->proto.graph; }
  int64_t opset() const { return model_->opset(""); }
  const std::string& name() const { return model_->name; }
  /// For a model whose nodes are of that version. `ir_version`: the least that belongs to it.
  void set_opset(int64_t version, int64_t ir_version);

  /// The content of a float initialiser that is not also an input; undefined if `name` is none.
  Tensor weight(const std::string& name) const;
  /// Its dimensions, without reading the content; nothing if there is no such initialiser.
  std::optional<std::vector<int64_t>> weight_dims(const std::string& name) const;
  /// Nodes of the graph that read `name`; -1 among them stands for an output of the graph or a graph inside a node.
  std::vector<int> readers(const std::string& name) const;
  /// The node that makes `name`; null if none does.
  onnx::NodeProto* producer(const std::string& name);

  /// `wanted`, or that with a number if it is taken.
  std::string new_name(const std::string& wanted);
  /// Adds an initialiser under a new name like `wanted` and returns that.
  std::string add_initializer(const std::string& wanted, const Tensor& content);
  /// Puts nodes where all that they read is made: after the node that makes `value`, or first if none does.
  void insert_after(const std::string& value, std::vector<onnx::NodeProto> nodes);
  /// Removes nodes that `dead` says are, by their place.
  void remove_nodes(const std::function<bool(size_t index)>& dead);
  /// Removes initialisers that nothing reads.
  void remove_unread_initializers();
  /// Sets a metadata property; an empty value removes it.
  void set_metadata(const std::string& key, const std::string& value);
  /// Makes a value an output of the graph as well.
  void add_output(const std::string& name);

  /// Bytes of all initialisers of the graph.
  uint64_t weight_bytes() const;
  /// The model as it is now, for running. Later changes do not touch it.
  std::shared_ptr<const onnx::ModelFile> snapshot() const;
  void save(const std::string& path) const;

 private:
  const onnx::TensorProto* find_weight(const std::string& name) const;

  std::shared_ptr<onnx::ModelFile> model_;
  std::unordered_set<std::string> names_;
};

/// Null if there is none.
const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, const std::string& name);
void remove_attribute(onnx::NodeProto& node, const std::string& name);
/// The value of an integer attribute.
int64_t integer_attribute(const onnx::NodeProto& node, const std::string& name, int64_t fallback);
float float_attribute(const onnx::NodeProto& node, const std::string& name, float fallback);
void set_integer_attribute(onnx::NodeProto& node, const std::string& name, int64_t value);
onnx::NodeProto make_node(const std::string& op_type, std::vector<std::string> inputs, std::string output);

}  // namespace thalweg
