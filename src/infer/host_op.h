// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "formats/onnx/node_attributes.h"

namespace thalweg {

/// Runs a graph that is an attribute of a node. `inputs` are those the graph declares; values of the graphs around it
/// that it reads are found by the runner itself.
using BodyRunner = std::function<std::vector<Tensor>(const onnx::GraphProto& body, std::vector<Tensor> inputs)>;

/// One execution of an ONNX node outside of any graph: its operands are at hand, and its results may have any shape.
class HostCall : public onnx::NodeAttributes {
 public:
  HostCall(const onnx::ModelFile& model, const onnx::NodeProto& node, std::vector<Tensor> inputs, BodyRunner run_body)
      : NodeAttributes(model, node), inputs_(std::move(inputs)), run_body_(std::move(run_body)) {}

  int64_t opset() const { return model().opset(node().domain); }
  size_t num_inputs() const { return inputs_.size(); }
  bool has(size_t index) const { return index < inputs_.size() && inputs_[index].defined(); }
  bool wants(size_t output) const { return output < node().output.size() && !node().output[output].empty(); }
  /// Throws if the input is absent.
  const Tensor& input(size_t index) const;
  /// The elements of an input as integers, whatever their type.
  std::vector<int64_t> content_integers(size_t index) const;
  /// The one element of an input, or `fallback` if it is absent; the same as an integer, exactly.
  double content_number(size_t index, double fallback) const;
  int64_t content_integer(size_t index, int64_t fallback) const;
  std::vector<Tensor> run_body(const onnx::GraphProto& body, std::vector<Tensor> inputs) const {
    return run_body_(body, std::move(inputs));
  }

 private:
  std::vector<Tensor> inputs_;
  BodyRunner run_body_;
};

/// Gives the outputs of the node, of which trailing ones may be left out. Throws an Error with the reason if it cannot.
using HostFunction = std::function<std::vector<Tensor>(const HostCall&)>;

/// Registers operators of the default domain at start-up that run outside of compiled programs: those whose results
/// have shapes that depend on the data, and rare ones for which no graph op exists.
struct RegisterHostOps {
  RegisterHostOps(std::initializer_list<std::pair<const char*, HostFunction>> ops);
};

/// Null if there is none.
const HostFunction* find_host_op(const std::string& domain, const std::string& op_type);

}  // namespace thalweg
