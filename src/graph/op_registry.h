// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "thalweg/graph.h"

namespace thalweg {

/// A graph refuses values with more elements, counting empty and free dimensions as 1, so that no shape rule overflows
/// by multiplying two extents of one value, or one of them by an attribute below 2^20.
constexpr int64_t kMostElements = int64_t{1} << 40;

/// What a shape rule sees of the node that is being built.
class InferContext {
 public:
  InferContext(std::string op, std::string node, const std::vector<Value*>& inputs, const Attributes& attrs)
      : op_(std::move(op)), node_(std::move(node)), inputs_(inputs), attrs_(attrs) {}

  size_t num_inputs() const { return inputs_.size(); }
  bool has(size_t index) const { return index < inputs_.size() && inputs_[index] != nullptr; }
  const TensorType& type(size_t index) const;
  const Shape& shape(size_t index) const { return type(index).shape; }
  DType dtype(size_t index) const { return type(index).dtype; }
  /// Content of a constant input; undefined tensor otherwise.
  Tensor constant(size_t index) const;
  const Attributes& attrs() const { return attrs_; }

  /// Throws an Error that begins with op and node and ends with the input types.
  template <typename... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    std::ostringstream text;
    (text << ... << parts);
    fail_with(text.str());
  }
  template <typename... Parts>
  void require(bool condition, const Parts&... parts) const {
    if (!condition) [[unlikely]]
      fail(parts...);
  }
  void require_rank(size_t index, int rank) const;
  void require_floating(size_t index) const;
  /// Resolves a possibly negative axis against `rank`; the result is in [0, rank).
  int axis(int64_t axis, int rank) const;

 private:
  [[noreturn]] void fail_with(const std::string& message) const;
  std::string op_, node_;
  const std::vector<Value*>& inputs_;
  const Attributes& attrs_;
};

/// What a gradient rule sees, and where it leaves its result. Rules build the gradient out of further nodes.
class GradientContext {
 public:
  GradientContext(const Node& node, std::vector<Value*> output_gradients, std::vector<bool> wanted)
      : node_(node),
        output_gradients_(std::move(output_gradients)),
        wanted_(std::move(wanted)),
        results_(node.inputs().size()) {}

  struct Result {
    Value* dense = nullptr;
    Value* indices = nullptr;  ///< with `rows`: sparse
    Value* rows = nullptr;
  };

  const Node& node() const { return node_; }
  Graph& graph() const { return node_.graph(); }
  Value* input(size_t index) const { return node_.input(index); }
  Value* output(size_t index = 0) const { return node_.output(index); }
  const Attributes& attrs() const { return node_.attrs(); }
  /// Gradient that reached output `index`, null if none did (treat as zero).
  Value* output_gradient(size_t index = 0) const { return output_gradients_[index]; }
  /// False where nothing upstream needs the gradient: such work must not be added to the graph.
  bool wants(size_t index) const { return index < wanted_.size() && wanted_[index]; }
  void set(size_t index, Value* gradient) { results_[index].dense = gradient; }
  void set_sparse(size_t index, Value* indices, Value* rows) { results_[index] = {nullptr, indices, rows}; }
  const std::vector<Result>& results() const { return results_; }

 private:
  const Node& node_;
  std::vector<Value*> output_gradients_;
  std::vector<bool> wanted_;
  std::vector<Result> results_;
};

using InferRule = std::function<std::vector<TensorType>(const InferContext&)>;
using GradientRule = std::function<void(GradientContext&)>;

class ComposeContext;
class HostContext;
/// Adds nodes that compute what the op does; gives its outputs, of which trailing ones may be left out.
using ComposeRule = std::function<std::vector<Value*>(const ComposeContext&)>;
/// Computes the outputs, of which trailing ones may be left out.
using HostRule = std::function<std::vector<Tensor>(const HostContext&)>;

/// Everything the graph knows about an op. Kernels register apart, in the runtime.
struct OpDef {
  std::string name;
  int min_inputs = 1;
  int max_inputs = 1;  ///< -1: any number
  /// Empty: nothing is known of the results before the graph is specialised. Such an op has one of the two rules below.
  InferRule infer;
  /// Empty: the op has no gradient and asking for one is an error, unless `zero_gradient`.
  GradientRule gradient;
  /// Gradient is zero everywhere it exists (comparisons, arg-max, rounding): autodiff stops here silently.
  bool zero_gradient = false;
  /// Result depends on more than the inputs (dropout): never folded or merged.
  bool impure = false;
  /// What the op is made of, once the shapes of its inputs are known (graph/compose.h). It takes the place of the op
  /// when a graph is specialised, so gradients and kernels are those of its parts.
  ComposeRule compose = {};
  /// Runs the op between compiled programs (graph/host_op.h): the shapes of its results depend on the data, or no
  /// program can do it. If there is a rule to compose it as well, that is tried first.
  HostRule host = {};
};

/// Registers an op at start-up: `static const RegisterOp op({...});` at namespace scope. A second op of the same name
/// is a programmer's error and throws.
struct RegisterOp {
  explicit RegisterOp(OpDef definition);
};

/// Registers rules of ops that have no shape rule: standard operators, which a graph keeps whole until it is
/// specialised. Different files may give an op its two rules.
struct RegisterComposed {
  RegisterComposed(const std::string& name, ComposeRule rule);
};
struct RegisterHost {
  RegisterHost(const std::string& name, HostRule rule);
};

/// Null if there is no such op.
const OpDef* try_find_op(const std::string& name);
/// Throws Error with the nearest known names if there is no such op.
const OpDef& find_op(const std::string& name);
/// Sorted.
std::vector<std::string> op_names();

/// A shape rule for ops whose only output has the type of input 0.
InferRule same_as_input();

}  // namespace thalweg
