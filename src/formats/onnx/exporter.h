// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "formats/onnx/proto.h"
#include "graph/op_id.h"
#include "thalweg/graph.h"

namespace thalweg::onnx {

AttributeProto integer_attribute(const std::string& name, int64_t value);
AttributeProto real_attribute(const std::string& name, double value);
AttributeProto text_attribute(const std::string& name, const std::string& value);
AttributeProto integers_attribute(const std::string& name, const std::vector<int64_t>& values);

using WeightReader = std::function<Tensor(const std::string& name)>;

/// Builds the ONNX graph for a Graph. Values get the names they have there, made unique.
class Exporter {
 public:
  enum class Form {
    kPortable,  ///< operators that every runtime has
    kExact      ///< nodes of our own ops as they are, for our own processes
  };
  Exporter(const Graph& graph, WeightReader weight, Form form = Form::kPortable)
      : graph_(graph), weight_(std::move(weight)), form_(form) {}

  /// Throws one Error that lists all nodes for which there is no ONNX operator.
  GraphProto run();
  /// A graph inside `node`, in its attribute of this name, which may read values of this one.
  GraphProto run_body(const Node& node, const std::string& attribute);
  /// What the initialisers of the result point into.
  std::vector<Tensor>& tensors() { return tensors_; }

  // For the functions that write one node.
  /// The ONNX name of a value; "" for null, an absent input.
  std::string name(const Value* value);
  /// Appends an ONNX node that makes `output`.
  void emit(const Value* output, const std::string& op_type, const std::vector<std::string>& inputs,
            const std::vector<AttributeProto>& attributes = {});
  /// Appends an ONNX node whose output (or outputs) only other ONNX nodes read; gives their names.
  std::string emit(const std::string& op_type, const std::vector<std::string>& inputs,
                   const std::vector<AttributeProto>& attributes = {});
  std::vector<std::string> emit_many(const std::string& op_type, const std::vector<std::string>& inputs,
                                     size_t num_outputs, const std::vector<AttributeProto>& attributes = {});
  void emit_outputs(const std::vector<const Value*>& outputs, const std::string& op_type,
                    const std::vector<std::string>& inputs, const std::vector<AttributeProto>& attributes = {},
                    const std::string& domain = "", const std::string& node_name = "");
  /// Points into the tensor, which is kept.
  TensorProto tensor_proto(const std::string& name, const Tensor& tensor);
  std::string constant(const Tensor& tensor, const std::string& hint = "constant");
  std::string integers(const std::vector<int64_t>& values);
  /// A scalar of the element type of `like`.
  std::string number(const Value* like, double value);
  /// The content of a parameter, state or constant. Throws if the value is computed.
  Tensor content(const Value* value);

 private:
  std::string unique(const std::string& wanted);
  std::vector<std::string> write_nodes();
  void add_initializer(const std::string& name, const Tensor& tensor);
  void name_weights();
  void name_outputs();

  const Graph& graph_;
  WeightReader weight_;
  Form form_;
  GraphProto proto_;
  std::unordered_map<const Value*, std::string> names_;
  std::unordered_set<std::string> used_;
  /// Weights and constants that are initialisers already.
  std::unordered_set<const Value*> written_;
  std::vector<Tensor> tensors_;
};

/// The opset of all that is written.
constexpr int64_t kWrittenOpset = 21;

/// Writes one node of an op.
using NodeWriter = std::function<void(Exporter&, const Node&)>;

/// Registers at start-up: `static const RegisterWriters k({{op::kAdd, write_add}, ...});`
struct RegisterWriters {
  RegisterWriters(std::initializer_list<std::pair<OpId, NodeWriter>> writers);
};

}  // namespace thalweg::onnx
