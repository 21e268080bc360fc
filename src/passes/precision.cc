// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <unordered_map>

#include "base/cpu.h"
#include "base/warning.h"
#include "graph/op_registry.h"
#include "ops/ids.h"
#include "passes/rewrite.h"
#include "thalweg/passes.h"

namespace thalweg {

const char* name_of(Precision precision) { return precision == Precision::kBF16 ? "bf16" : "f32"; }

Precision precision_from_name(const std::string& name) {
  if (name == "f32") return Precision::kF32;
  if (name == "bf16") return Precision::kBF16;
  raise("unknown precision '", name, "'; known: f32, bf16");
}

Precision usable_precision(Precision wanted) {
  if (wanted != Precision::kBF16 || cpu_computes_in_bf16()) return wanted;
  const char* choice = std::getenv("THALWEG_BF16");
  if (choice != nullptr && std::string_view(choice) == "emulate") return wanted;
  warn_once(
      "bf16 was asked for, but this CPU has no bf16 instructions (AVX512_BF16): computing in f32, which is faster here "
      "(THALWEG_BF16=emulate keeps bf16)");
  return Precision::kF32;
}

const char* name_of(Math math) { return math == Math::kStrict ? "strict" : "fast"; }

const char* name_of(Tuning tuning) { return tuning == Tuning::kMeasured ? "measured" : "fixed"; }

Tuning tuning_from_name(const std::string& name) {
  if (name == "fixed") return Tuning::kFixed;
  if (name == "measured") return Tuning::kMeasured;
  raise("unknown tuning '", name, "'; known: fixed, measured");
}

Math math_from_name(const std::string& name) {
  if (name == "fast") return Math::kFast;
  if (name == "strict") return Math::kStrict;
  raise("unknown mathematics '", name, "'; known: fast, strict");
}

namespace {

bool any_narrow(const Node& node) {
  const auto& inputs = node.inputs();
  return std::any_of(inputs.begin(), inputs.end(), [](const Value* v) { return v->dtype() == DType::kBF16; });
}

/// True for a node that goes on in bf16: one narrow part is enough where all inputs are data of one kind.
bool follows(const Node& node) {
  if (!node.op().has(Trait::kFollowsBf16)) return false;
  if (node.input(0) != nullptr && node.input(0)->dtype() == DType::kBF16) return true;
  if (node.op().data_inputs < 0) return any_narrow(node);
  return node.op().data_inputs == 2 && node.input(0)->shape() == node.input(1)->shape() && any_narrow(node);
}

bool is_data(const OpDef& op, size_t input) {
  const auto index = static_cast<int>(input);
  return op.data_inputs < 0 || index < op.data_inputs || index == op.residual_input;
}

class Converter {
 public:
  explicit Converter(Graph& graph) : graph_(graph) {}

  void run() {
    // Nodes are added while walking: the originals are listed first.
    std::vector<Node*> nodes;
    for (const auto& node : graph_.nodes()) nodes.push_back(node.get());
    for (Node* node : nodes) convert(node);
    restore_outputs();
    graph_.sort_nodes();
  }

 private:
  void convert(Node* node) {
    const bool narrow = node->op().has(Trait::kComputesInBf16) || follows(*node);
    std::vector<Value*> inputs = node->inputs();
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == nullptr || !is_floating(inputs[i]->dtype())) continue;
      inputs[i] = as(inputs[i], narrow && is_data(node->op(), i) ? DType::kBF16 : DType::kF32);
    }
    graph_.set_inputs(node, inputs);
    graph_.infer_again(node);
  }

  Value* as(Value* value, DType dtype) {
    if (value->dtype() == dtype || value->dtype() == DType::kF64) return value;
    Value*& converted = converted_[value];
    if (converted == nullptr) {
      converted =
          graph_.add(op::kCast, {value}, {{"to", std::string(name_of(dtype))}}, value->name() + "." + name_of(dtype))
              ->output();
    }
    return converted;
  }

  /// What leaves the graph, and what states take, keeps the type it had.
  void restore_outputs() {
    std::vector<Value*> narrow;
    for (Value* output : graph_.outputs()) {
      if (output->dtype() == DType::kBF16) narrow.push_back(output);
    }
    for (Value* output : narrow) graph_.replace_output(output, as(output, DType::kF32));
  }

  Graph& graph_;
  std::unordered_map<Value*, Value*> converted_;
};

}  // namespace

void use_bf16(Graph& graph) { Converter(graph).run(); }

void widen_weight_gradients(Graph& graph) {
  for (Node* node : list_nodes(graph)) {
    if (node->op_name() != op::kConvGradWeights && node->op_name() != op::kLinearGradWeights) continue;
    const Node* reader = only_consumer(graph, node->output());
    if (reader == nullptr || reader->op_name() != op::kCast || reader->output()->dtype() != DType::kF32) continue;
    graph.set_attribute(node, "weights_dtype", std::string("f32"));
    graph.infer_again(node);
    for (Value* output : node->outputs()) {
      for (const Node* cast : graph.consumers(output)) {
        if (cast->op_name() == op::kCast && cast->output()->type() == output->type())
          graph.replace(cast->output(), output);
      }
    }
  }
  graph.remove_dead_nodes();
}

}  // namespace thalweg
