// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "formats/onnx/converter.h"
#include "formats/onnx/model_file.h"

namespace thalweg::onnx {

/// Where the values come from that no converted node makes.
class ValueSource {
 public:
  virtual ~ValueSource() = default;
  /// Adds the value to the graph. Null if there is none of that name (yet).
  virtual Value* define(const std::string& name, Graph& graph) = 0;
  /// The elements of a value that `define` made; an undefined tensor if they are not known.
  virtual Tensor content(const Value* value) = 0;
};

/// Turns nodes of an ONNX graph, one at a time, into nodes of a Graph. Whatever depends on constants alone becomes a
/// constant at once, so that shapes which a model computes are known to the nodes that need them.
class Importer {
 public:
  Importer(const ModelFile& model, Graph& graph, ValueSource& source) : model_(model), graph_(graph), source_(source) {}

  enum class Outcome {
    kConverted,
    kNotReady,      ///< an input does not exist
    kNeedsContent,  ///< the content of an input must be known, and is not
    kUnsupported    ///< no converter takes it: the reason is in `problem`
  };
  Outcome convert(const NodeProto& node, std::string& problem);

  /// Null if there is no such value.
  Value* find(const std::string& name);
  void define(const std::string& name, Value* value) { values_[name] = value; }
  /// Throws ContentNeeded if it is not known.
  Tensor content(const std::string& name);
  bool is_known(const std::string& name);

  Graph& graph() const { return graph_; }
  const ModelFile& model() const { return model_; }

 private:
  Tensor known_content(const std::string& name);
  void fold(size_t first_node, std::vector<Value*>& results);

  const ModelFile& model_;
  Graph& graph_;
  ValueSource& source_;
  std::unordered_map<std::string, Value*> values_;
};

/// How messages name an ONNX node: its operator, domain and name, or its first output if it has no name.
std::string describe(const NodeProto& node);

}  // namespace thalweg::onnx
