// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/cpu.h"
#include "base/warning.h"
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

/// How many leading inputs of an op carry data (as opposed to scales, shifts and biases, which stay f32).
const std::unordered_map<std::string, size_t>& data_inputs() {
  static const std::unordered_map<std::string, size_t> table = {
      {"conv", 2},       {"linear", 2},     {"matmul", 2},    {"batch_norm", 1}, {"batch_norm_inference", 1},
      {"layer_norm", 1}, {"group_norm", 1}, {"concat", 1000}, {"add", 2},
  };
  return table;
}

/// Ops worth converting their inputs for: where bf16 doubles the arithmetic rate.
bool computes(const std::string& op) { return op == "conv" || op == "linear" || op == "matmul"; }

/// Ops that go on in bf16 if their data arrives in it, at no loss that matters.
bool follows(const std::string& op) {
  static const std::unordered_set<std::string> ops = {
      "relu",
      "leaky_relu",
      "gelu",
      "gelu_tanh",
      "clip",
      "dropout",
      "max_pool",
      "avg_pool",
      "reshape",
      "squeeze",
      "unsqueeze",
      "stop_gradient",
      "transpose",
      "concat",
      "slice",
      "split",
      "add",
      "batch_norm",
      "batch_norm_inference",
      "layer_norm",
      "group_norm",
      "adaptive_avg_pool",
      "adaptive_max_pool",
      "global_avg_pool",
      "global_max_pool",
      "pad",
      "lrn",
  };
  return ops.count(op) > 0;
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
    const std::string& op = node->op_name();
    const bool arrives = node->input(0) != nullptr && node->input(0)->dtype() == DType::kBF16;
    const bool narrow = computes(op) || (follows(op) && (arrives || (op == "concat" && any_narrow(*node)) ||
                                                         (op == "add" && both_large_narrow(*node))));
    const auto entry = data_inputs().find(op);
    const size_t data = entry != data_inputs().end() ? entry->second : 1;
    std::vector<Value*> inputs = node->inputs();
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == nullptr || !is_floating(inputs[i]->dtype())) continue;
      // A residual is data although it comes after scale and shift.
      const bool is_data = i < data || ((op == "batch_norm" || op == "conv") && i == 3);
      inputs[i] = as(inputs[i], narrow && is_data ? DType::kBF16 : DType::kF32);
    }
    graph_.set_inputs(node, inputs);
    graph_.infer_again(node);
  }

  static bool any_narrow(const Node& node) {
    for (const Value* input : node.inputs()) {
      if (input->dtype() == DType::kBF16) return true;
    }
    return false;
  }

  static bool both_large_narrow(const Node& node) {
    return node.input(0)->shape() == node.input(1)->shape() && any_narrow(node);
  }

  Value* as(Value* value, DType dtype) {
    if (value->dtype() == dtype || value->dtype() == DType::kF64) return value;
    Value*& converted = converted_[value];
    if (converted == nullptr) {
      converted =
          graph_.add("cast", {value}, {{"to", std::string(name_of(dtype))}}, value->name() + "." + name_of(dtype))
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
    if (node->op_name() != "conv_grad_weights" && node->op_name() != "linear_grad_weights") continue;
    const Node* reader = only_consumer(graph, node->output());
    if (reader == nullptr || reader->op_name() != "cast" || reader->output()->dtype() != DType::kF32) continue;
    graph.set_attribute(node, "weights_dtype", std::string("f32"));
    graph.infer_again(node);
    for (Value* output : node->outputs()) {
      for (const Node* cast : graph.consumers(output)) {
        if (cast->op_name() == "cast" && cast->output()->type() == output->type())
          graph.replace(cast->output(), output);
      }
    }
  }
  graph.remove_dead_nodes();
}

}  // namespace thalweg
