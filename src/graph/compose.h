// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/op_registry.h"

namespace thalweg {

/// Thrown while an op is composed if the content of one of its inputs must be known and is not. Whoever specialises the
/// graph catches it.
struct ContentNeeded {};

/// What a rule that composes an op sees of the node: its inputs, whose shapes are known, in the graph that is being
/// built, and its attributes.
class ComposeContext {
 public:
  /// Gives a constant with the content of a value that is none; null if the content is not known.
  using FindContent = std::function<Value*(Value*)>;

  ComposeContext(Graph& graph, const Node& node, std::vector<Value*> inputs, FindContent find_content)
      : graph_(graph), node_(node), inputs_(std::move(inputs)), find_content_(std::move(find_content)) {}

  Graph& graph() const { return graph_; }
  const std::string& name() const { return node_.name(); }
  /// The name of the op without that of its family, as "Relu" of "onnx.Relu".
  std::string op_type() const;
  const Attributes& attrs() const { return node_.attrs(); }

  bool has_attribute(const std::string& name) const { return attrs().has(name); }
  int64_t integer(const std::string& name, int64_t fallback) const { return attrs().integer(name, fallback); }
  bool flag(const std::string& name, bool fallback) const { return attrs().flag(name, fallback); }
  double real(const std::string& name, double fallback) const { return attrs().real(name, fallback); }
  std::string text(const std::string& name, const std::string& fallback) const { return attrs().text(name, fallback); }
  std::vector<int64_t> integers(const std::string& name, const std::vector<int64_t>& fallback = {}) const {
    return attrs().integers(name, fallback);
  }
  std::vector<double> reals(const std::string& name, const std::vector<double>& fallback = {}) const {
    return attrs().reals(name, fallback);
  }
  std::vector<std::string> texts(const std::string& name) const { return attrs().texts(name); }
  /// Undefined if missing.
  Tensor tensor(const std::string& name) const { return attrs().tensor(name); }
  /// The version of the standard that the node was written for.
  int64_t opset() const { return attrs().integer(kOpsetAttribute, 0); }
  static constexpr const char* kOpsetAttribute = "opset";

  size_t num_inputs() const { return inputs_.size(); }
  bool has(size_t index) const { return index < inputs_.size() && inputs_[index] != nullptr; }
  /// Throws if the input is absent.
  Value* input(size_t index) const;
  /// Null if the input is absent.
  Value* optional(size_t index) const { return has(index) ? input(index) : nullptr; }
  /// All of them. Throws if one is absent, or if there is none.
  std::vector<Value*> inputs() const;
  size_t num_outputs() const { return node_.outputs().size(); }
  bool wants(size_t output) const;

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

  /// For a rule that composes further nodes, such as those of a graph in an attribute.
  const FindContent& find_content() const { return find_content_; }

  /// Throws an Error with the reason why this node cannot be composed; the caller adds which node it is.
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
  /// Null if the content is not known.
  Value* known(size_t index) const;

  Graph& graph_;
  const Node& node_;
  /// An input whose content was asked for is a constant from then on.
  mutable std::vector<Value*> inputs_;
  FindContent find_content_;
};

}  // namespace thalweg
