// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/specialize.h"

#include <algorithm>

#include "graph/compose.h"
#include "ops/control_flow.h"
#include "ops/ids.h"
#include "runtime/evaluate.h"
#include "thalweg/input_error.h"

namespace thalweg {
namespace {

/// Larger results are left to the runtime, which computes them once as well, with fast kernels.
constexpr int64_t kMaxFoldedElements = int64_t{1} << 16;

/// Of nodes that one rule adds and whose results it needs at once.
constexpr int kMostFoldedDepth = 200;

bool is_constant(const Value* value) { return value == nullptr || value->kind() == Value::Kind::kConstant; }

bool foldable(const Node& node) {
  // Kernels for integers want the weights as they were.
  if (node.op_name() == op::kDequantize && node.output()->shape().rank() >= 2) return false;
  if (node.op().impure || !std::all_of(node.inputs().begin(), node.inputs().end(), is_constant)) return false;
  return std::all_of(node.outputs().begin(), node.outputs().end(), [](const Value* value) {
    return value->shape().is_static() && value->shape().num_elements() <= kMaxFoldedElements;
  });
}

}  // namespace

Value* Specializer::find(const Value* original) {
  const auto found = values_.find(original);
  if (found != values_.end()) return found->second;
  Value* value = source_.define(original, target_);
  if (value != nullptr) define(original, value);
  return value;
}

void Specializer::define(const Value* original, Value* value) {
  values_[original] = value;
  originals_.emplace(value, original);
}

/// What a node that the present rule has added makes of constants; null if it does not depend on those alone.
Value* Specializer::computed_content(const Value* value, int depth) {
  Node* node = value->producer();
  if (node->id() < rule_begin_ || depth > kMostFoldedDepth) return nullptr;
  std::vector<Value*> inputs = node->inputs();
  for (Value*& input : inputs) {
    if (input == nullptr || input->kind() == Value::Kind::kConstant) continue;
    if (input->kind() == Value::Kind::kComputed) input = computed_content(input, depth + 1);
    if (input == nullptr || input->kind() != Value::Kind::kConstant) return nullptr;
  }
  target_.set_inputs(node, inputs);  // so that nobody has to go this way again
  std::vector<Tensor> outputs;
  if (!foldable(*node) || !evaluate(*node, outputs)) return nullptr;
  return target_.constant(outputs[static_cast<size_t>(value->output_index())]);
}

Value* Specializer::find_content(Value* value) {
  if (value->kind() == Value::Kind::kComputed) return computed_content(value, 0);
  const auto original = originals_.find(value);
  if (original == originals_.end()) return nullptr;
  const Tensor content = source_.content(original->second);
  if (!content.defined()) return nullptr;
  Value* constant = target_.constant(content);
  values_[original->second] = constant;
  return constant;
}

/// Replaces nodes from `first_node` on whose inputs are constant by their results.
void Specializer::fold(size_t first_node, std::vector<Value*>& results) {
  std::unordered_map<const Value*, Value*> folded;
  const auto replaced = [&](Value* value) {
    const auto found = folded.find(value);
    return found != folded.end() ? found->second : value;
  };
  for (size_t i = first_node; i < target_.nodes().size(); ++i) {
    Node* node = target_.nodes()[i].get();
    std::vector<Value*> inputs = node->inputs();
    std::transform(inputs.begin(), inputs.end(), inputs.begin(), replaced);
    target_.set_inputs(node, inputs);
    std::vector<Tensor> outputs;
    if (!foldable(*node) || !evaluate(*node, outputs)) continue;
    for (size_t o = 0; o < outputs.size(); ++o) folded[node->output(o)] = target_.constant(outputs[o]);
  }
  std::transform(results.begin(), results.end(), results.begin(), replaced);
}

std::vector<Value*> Specializer::build(const Node& node, std::vector<Value*> inputs) {
  if (node.op().compose) {
    const auto find = [this](Value* value) { return find_content(value); };
    return node.op().compose(ComposeContext(target_, node, std::move(inputs), find));
  }
  const Node* copied = target_.add(node.op_name(), std::move(inputs), node.attrs(), node.name());
  for (size_t i = 0; i < copied->outputs().size() && i < node.outputs().size(); ++i) {
    copied->output(i)->set_name(node.output(i)->name());
  }
  return copied->outputs();
}

Specializer::Outcome Specializer::choose(const Node& node, std::string& problem) {
  Value* condition = find(node.input(0));
  if (condition == nullptr) return Outcome::kNotReady;
  if (condition->kind() != Value::Kind::kConstant) condition = find_content(condition);
  if (condition == nullptr) return Outcome::kNeedsContent;
  TW_REQUIRE(condition->shape().num_elements() == 1, describe(node), ": its condition has ",
             condition->shape().num_elements(), " elements");
  const Branch branch = branch_of(node, condition->data().item() != 0);
  for (size_t i = 0; i < branch.captured.size(); ++i) {
    Value* given = find(branch.captured[i]);
    if (given == nullptr) return Outcome::kNotReady;
    values_[branch.graph->inputs()[i]] = given;
  }
  for (const Value* constant : branch.graph->constants()) define(constant, target_.constant(constant->data()));
  for (const auto& inner : branch.graph->nodes()) {
    // The host can run what a program cannot.
    if (convert(*inner, problem) == Outcome::kConverted) continue;
    problem = "its graph cannot become part of a program";
    return Outcome::kUnsupported;
  }
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    Value* value = i < branch.graph->outputs().size() ? find(branch.graph->outputs()[i]) : nullptr;
    if (value == nullptr) return Outcome::kUnsupported;
    define(node.output(i), value);
  }
  return Outcome::kConverted;
}

Specializer::Outcome Specializer::convert(const Node& node, std::string& problem) {
  if (is_choice(node)) return choose(node, problem);
  std::vector<Value*> inputs;
  for (const Value* input : node.inputs()) {
    inputs.push_back(input != nullptr ? find(input) : nullptr);
    if (input != nullptr && inputs.back() == nullptr) return Outcome::kNotReady;
  }
  if (!node.op().compose && !node.op().infer) {
    problem = "there is no such operator in programs";
    return Outcome::kUnsupported;
  }
  const size_t first_node = target_.nodes().size();
  rule_begin_ = first_node == 0 ? 0 : target_.nodes().back()->id() + 1;
  std::vector<Value*> results;
  try {
    results = build(node, std::move(inputs));
    fold(first_node, results);
  } catch (const ContentNeeded&) {
    return Outcome::kNeedsContent;
  } catch (const InputError&) {
    throw;
  } catch (const Error& error) {
    problem = error.what();
    return Outcome::kUnsupported;
  }
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    const bool made = i < results.size() && results[i] != nullptr;
    if (made) {
      define(node.output(i), results[i]);
    } else if (node.graph().is_output(node.output(i)) || !node.graph().consumers(node.output(i)).empty()) {
      problem = "its output " + std::to_string(i) + " is not supported";
      return Outcome::kUnsupported;
    }
  }
  return Outcome::kConverted;
}

namespace {

/// Everything is defined from the beginning; only contents of weights can be asked for.
class WholeGraph : public ValueSource {
 public:
  explicit WholeGraph(const WeightContent& weight) : weight_(weight) {}
  Value* define(const Value* /*original*/, Graph& /*target*/) override { return nullptr; }
  Tensor content(const Value* original) override {
    if (original->kind() == Value::Kind::kInput) return {};
    if (original->data().defined()) return original->data();
    return weight_ ? weight_(original) : Tensor();
  }

 private:
  const WeightContent& weight_;
};

void require_static(const Node& node) {
  for (const Value* output : node.outputs()) {
    TW_REQUIRE(output->shape().is_static(), describe(node), ": shape ", output->shape(),
               " depends on the data and cannot be compiled");
  }
}

}  // namespace

std::unique_ptr<Graph> specialize(const Graph& graph, const std::vector<TensorType>& input_types,
                                  std::unordered_map<const Value*, Value*>* mapping, const WeightContent& weight) {
  std::unordered_map<const Value*, Value*> given;
  std::unique_ptr<Graph> result = graph.copy_values(input_types, given);
  WholeGraph source(weight);
  Specializer specializer(*result, source);
  for (const auto& [original, value] : given) {
    if (original != nullptr) specializer.define(original, value);
  }
  for (const auto& node : graph.nodes()) {
    std::string problem;
    const auto outcome = specializer.convert(*node, problem);
    TW_REQUIRE(outcome != Specializer::Outcome::kNeedsContent, describe(*node),
               ": its shape depends on the content of the data, which one program cannot follow");
    TW_REQUIRE(outcome == Specializer::Outcome::kConverted, node->op().infer ? "" : describe(*node) + ": ", problem);
  }
  for (const auto& node : result->nodes()) require_static(*node);
  for (const Value* output : graph.outputs()) {
    Value* value = specializer.find(output);
    result->mark_output(value, value->kind() == Value::Kind::kComputed ? output->name() : "");
  }
  for (const auto& [state, value] : graph.assignments()) {
    result->assign(specializer.find(state), specializer.find(value));
  }
  if (mapping != nullptr) {
    *mapping = given;
    for (const auto& node : graph.nodes()) {
      for (const Value* output : node->outputs()) {
        if (Value* value = specializer.find(output); value != nullptr) (*mapping)[output] = value;
      }
    }
  }
  return result;
}

}  // namespace thalweg
