// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "formats/onnx/node_attributes.h"
#include "thalweg/graph.h"

namespace thalweg::onnx {

class Importer;

/// Thrown while a node is converted if the content of one of its inputs must be known and is not. The importer catches
/// it.
struct ContentNeeded {};

/// What a converter sees of the ONNX node that it turns into nodes of a graph.
class NodeContext : public NodeAttributes {
 public:
  NodeContext(Importer& importer, const NodeProto& node, int64_t opset);

  Graph& graph() const;
  /// Version of the operator set that the model asks for.
  int64_t opset() const { return opset_; }

  size_t num_inputs() const { return node().input.size(); }
  bool has(size_t index) const { return index < num_inputs() && !node().input[index].empty(); }
  /// Throws if the input is absent.
  Value* input(size_t index) const;
  /// Null if the input is absent.
  Value* optional(size_t index) const { return has(index) ? input(index) : nullptr; }
  /// All of them. Throws if one is absent, or if there is none.
  std::vector<Value*> inputs() const;
  size_t num_outputs() const { return node().output.size(); }
  bool wants(size_t output) const { return output < num_outputs() && !node().output[output].empty(); }

  /// The elements of an input that must be known while the graph is built, such as a shape. Throws ContentNeeded if
  /// they are not.
  Tensor content(size_t index) const;
  /// The same as integers, whatever their type.
  std::vector<int64_t> content_integers(size_t index) const;
  /// The one element of an input; the same as an integer, exactly.
  double content_number(size_t index) const;
  int64_t content_integer(size_t index) const;
  /// True if `content` would not throw ContentNeeded.
  bool is_known(size_t index) const;

  Value* constant(const Tensor& tensor) const { return graph().constant(tensor); }

  /// Throws an Error with the reason why this node cannot be converted; the importer adds which node it is.
  template <typename... Parts>
  [[noreturn]] void unsupported(const Parts&... parts) const {
    raise(parts...);
  }
  template <typename... Parts>
  void require(bool condition, const Parts&... parts) const {
    if (!condition) [[unlikely]]
      unsupported(parts...);
  }

 private:
  Importer& importer_;
  int64_t opset_;
};

/// Adds nodes that compute what the ONNX node does; gives its outputs, of which trailing ones may be left out.
using Converter = std::function<std::vector<Value*>(const NodeContext&)>;

/// Registers converters of the default domain at start-up: `static const RegisterConverters k({{"Add", add}, ...});`
/// A converter handles every version of its operator from kOldestOpset on, and asks NodeContext::opset where they
/// differ.
struct RegisterConverters {
  RegisterConverters(std::initializer_list<std::pair<const char*, Converter>> converters,
                     const std::string& domain = "");
};

/// Null if there is none.
const Converter* find_converter(const std::string& domain, const std::string& op_type);

/// A converter whose only output is what `function` gives.
template <typename Function>
Converter single(Function function) {
  return [function](const NodeContext& context) { return std::vector<Value*>{function(context)}; };
}

}  // namespace thalweg::onnx
