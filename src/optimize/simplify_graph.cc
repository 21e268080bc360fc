// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optimize/simplify_graph.h"

#include "graph/compose.h"
#include "graph/meaning.h"
#include "ops/ids.h"
#include "passes/rewrite.h"
#include "thalweg/ops.h"
#include "thalweg/passes.h"

namespace thalweg {
namespace {

/// Whether the rule of the node's operator gives input 0 back before anything is known of it but what is constant.
bool gives_back(const Node& node) {
  if (!node.op().compose || node.op().impure || node.inputs().empty()) return false;
  Graph aside("aside");
  std::vector<Value*> inputs;
  for (const Value* input : node.inputs()) {
    const bool known = input != nullptr && input->kind() == Value::Kind::kConstant;
    Value* unknown = aside.untyped_input("input" + std::to_string(inputs.size()));
    inputs.push_back(known ? aside.constant(input->data()) : input != nullptr ? unknown : nullptr);
  }
  try {
    const std::vector<Value*> results = node.op().compose(ComposeContext(aside, node, inputs, nullptr));
    return inputs[0] != nullptr && !results.empty() && results[0] == inputs[0];
  } catch (const ContentNeeded&) {
    return false;
  } catch (const Error&) {
    return false;  // most rules ask for the input's type
  }
}

/// A node that does nothing at inference, and whose further outputs nobody reads.
bool passes_on(const EditedGraph& model, const Node& node) {
  for (size_t i = 1; i < node.outputs().size(); ++i) {
    if (model.graph().is_output(node.output(i)) || !model.graph().consumers(node.output(i)).empty()) return false;
  }
  return gives_back(node) || (node.attrs().flag(onnx::kLearns) && meaning_of(node).has(Trait::kTrainingOnly));
}

/// The weights and the bias of a convolution once the batch norm that reads it is part of it; nothing if it cannot be.
/// The passes of all models say so, of a graph of these two nodes.
std::vector<Tensor> folded_terms(const EditedGraph& model, const Node& conv, const Node& norm) {
  auto pair = std::make_unique<Graph>(model.name());
  bool known = true;
  const auto given = [&](const Value* value) -> Value* {
    const Tensor content = model.weight(value);
    known = known && (value == nullptr || content.defined());
    if (value == nullptr || !content.defined()) return nullptr;
    return value->kind() == Value::Kind::kState ? pair->state(value->name(), content) : pair->constant(content);
  };
  Value* weight = given(conv.input(1));
  Value* bias = given(conv.input(2));
  std::vector<Value*> inputs(1);
  for (size_t i = 1; i < norm.inputs().size(); ++i) inputs.push_back(given(norm.input(i)));
  if (!known || weight == nullptr || weight->shape().rank() < 3 || weight->shape().num_elements() == 0) return {};
  std::vector<int64_t> window = weight->shape().dims();
  window[0] = 1;
  Value* x = pair->input("x", {DType::kF32, Shape(window)});
  inputs[0] = pair->add(op::kConv, {x, weight, bias})->output();
  pair->mark_output(norm.op().compose(ComposeContext(*pair, norm, inputs, nullptr))[0]);
  to_inference(*pair);
  fuse_for_inference(*pair);
  const Node* product = pair->outputs()[0]->producer();
  if (product->op_name() != op::kConv) return {};
  pair->mark_output(product->input(2));
  pair->replace_output(pair->outputs()[0], product->input(1));
  pair->remove_dead_nodes();
  InferenceOptions options;
  options.threads = 1;
  return Model(std::move(pair), options).predict({Tensor::zeros(DType::kF32, Shape(window))});
}

/// Takes the batch norm into the convolution, if that can be done.
void fold_norm(EditedGraph& model, const Node& norm) {
  Node* conv = norm.input(0)->producer();
  if (conv == nullptr || !means(*conv, op::kConv) || !model.has_one_reader(norm.input(0))) return;
  const std::vector<Tensor> terms = folded_terms(model, *conv, norm);
  if (terms.empty()) return;
  Graph& graph = model.graph();
  const std::string name = conv->output()->name();
  graph.set_inputs(
      conv, {conv->input(0), graph.parameter(name + "_weight", terms[0]), graph.parameter(name + "_bias", terms[1])});
  model.replace(norm.output(), conv->output());
}

}  // namespace

void simplify_graph(EditedGraph& model) {
  for (Node* node : list_nodes(model.graph())) {
    if (passes_on(model, *node) && !model.graph().is_output(node->output())) {
      model.graph().replace(node->output(), node->input(0));
    } else if (means(*node, op::kBatchNormInference)) {
      fold_norm(model, *node);
    }
  }
  model.tidy();
}

}  // namespace thalweg
