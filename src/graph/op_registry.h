// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/attribute_def.h"
#include "graph/op_id.h"
#include "graph/reference_call.h"
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

  const std::string& op() const { return op_; }
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

/// What passes and kernels ask about an op instead of its name.
enum class Trait : uint32_t {
  kElementwise = 1 << 0,      ///< each element of the result comes from those at its place alone, after broadcasting
  kMovesElements = 1 << 1,    ///< the result's elements are elements of input 0
  kKeepsZero = 1 << 2,        ///< f(0) = 0, so that it may run over the padding of a layout
  kComputesInBf16 = 1 << 3,   ///< worth converting its data for: bf16 doubles the rate of arithmetic
  kFollowsBf16 = 1 << 4,      ///< goes on in bf16 if its data arrives in it, at no loss that matters
  kTrainingOnly = 1 << 5,     ///< at inference it passes input 0 on
  kSameIfSameType = 1 << 6,   ///< passes input 0 on where the result has its type
  kTakesActivation = 1 << 7,  ///< may apply the activations that its attribute "activation" allows to its result
  kActivation = 1 << 8,       ///< a function that networks put between layers
  kFloatingOnly = 1 << 9,     ///< input 0 must be of a floating type
};
struct Traits {
  uint32_t bits = 0;
  constexpr Traits() = default;
  constexpr Traits(Trait trait) : bits(static_cast<uint32_t>(trait)) {}  // NOLINT: one is a set of one
};
constexpr Traits operator|(Traits a, Traits b) {
  a.bits |= b.bits;
  return a;
}
constexpr Traits operator|(Trait a, Trait b) { return Traits(a) | Traits(b); }

/// An ONNX operator that does what the op does, input for input and output for output.
struct OnnxName {
  std::string name;
  /// The first opset that has it in this form, and the last (0: it is still there).
  int64_t since = 1;
  int64_t until = 0;
  std::string domain = "";
};

/// Everything the graph knows about an op. Fast kernels register apart, in the runtime.
struct OpDef {
  std::string name = {};
  int min_inputs = 1;
  int max_inputs = 1;  ///< -1: any number
  /// Empty: nothing is known of the results before the graph is specialised. Such an op has one of the two rules below.
  InferRule infer = nullptr;
  /// Empty: the op has no gradient and asking for one is an error, unless `zero_gradient`.
  GradientRule gradient = nullptr;
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
  /// The rule to compose it is that of an op which lists it (OpDef::onnx); one that says more comes first.
  bool composed_by_name = false;

  /// Empty: the runtime has the plain form among its kernels.
  ReferenceFunction reference = nullptr;
  /// One sentence for the table of ops. Ops without are for the engine's own use (gradients, fused forms).
  std::string doc = "";
  std::vector<AttributeDef> attributes = {};
  Traits traits = {};
  /// Leading inputs that carry data (as opposed to scales, shifts and biases, which stay f32); -1: all.
  int data_inputs = 1;
  /// An input behind those that is added to the result, and is data too; -1: there is none.
  int residual_input = -1;
  /// ONNX operators and PyTorch's (aten) that mean the same, attribute for attribute.
  std::vector<OnnxName> onnx = {};
  std::vector<std::string> torch = {};
  /// PyTorch's module that is this op, whose arguments are its attributes.
  std::string layer = "";

  bool has(Trait trait) const { return (traits.bits & Traits(trait).bits) != 0; }
  /// Null if the op has no such attribute.
  const AttributeDef* attribute(const std::string& called) const;
};

/// How many inputs an op takes; -1: any number.
struct InputCount {
  int least, most;
  constexpr InputCount(int exactly) : least(exactly), most(exactly) {}  // NOLINT: a number is a count
  constexpr InputCount(int at_least, int at_most) : least(at_least), most(at_most) {}
};

/// Registers an op at start-up: `static const RegisterOp op(...);` at namespace scope. A second op of the same name is
/// a programmer's error and throws.
struct RegisterOp {
  explicit RegisterOp(OpDef definition);
  /// What most ops say, and in `rest` whatever else there is: `{.traits = ..., .onnx = ...}`.
  RegisterOp(OpId op, InputCount inputs, const char* doc, InferRule infer, GradientRule gradient,
             std::vector<AttributeDef> attributes = {}, OpDef rest = {});
};

/// Registers rules of ops that have no shape rule: standard operators, which a graph keeps whole until it is
/// specialised. Different files may give an op its two rules.
struct RegisterComposed {
  RegisterComposed(const std::string& name, ComposeRule rule);
};
struct RegisterHost {
  RegisterHost(const std::string& name, HostRule rule);
};

/// Throws Error with the nearest known names if there is no such op.
const OpDef& find_op(const std::string& name);
/// Null if there is no such op.
const OpDef* look_up_op(const std::string& name);
/// Sorted.
std::vector<std::string> op_names();
/// The op that has this ONNX operator among its names; null if none has.
const OpDef* op_of_onnx(const std::string& domain, const std::string& op_type);

/// A shape rule for ops whose only output has the type of input 0.
InferRule same_as_input();

}  // namespace thalweg
