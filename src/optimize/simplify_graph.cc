// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optimize/simplify_graph.h"

#include <algorithm>
#include <cmath>

#include "passes/rewrite.h"

namespace thalweg {
namespace {

/// The batch norm's statistics and scales by channel; empty if they are not all fixed.
std::vector<Tensor> norm_parameters(const EditedGraph& model, const Node& norm) {
  std::vector<Tensor> parameters;
  for (size_t i = 1; i < 5; ++i) {
    parameters.push_back(model.weight(norm.input(i)));
    if (!parameters.back().defined()) return {};
  }
  return parameters;
}

/// In training mode, with results that say so, it normalises by the batch.
bool infers(const Node& norm) { return norm.attrs().flag(onnx::kLearns) || !norm.attrs().flag("training_mode"); }

/// Takes the batch norm into the convolution, if that can be done.
void fold_norm(EditedGraph& model, const Node& norm) {
  Node* conv = norm.input(0)->producer();
  if (!infers(norm) || conv == nullptr || !is_one_of(*conv, {"Conv"}) || !model.has_one_reader(norm.input(0))) return;
  const std::vector<Tensor> parameters = norm_parameters(model, norm);
  const Tensor weight = model.weight(conv->input(1));
  const bool has_bias = conv->input(2) != nullptr;
  const Tensor bias = model.weight(conv->input(2));
  if (parameters.empty() || !weight.defined() || (has_bias && !bias.defined())) return;
  const int64_t channels = weight.shape()[0];
  const bool fits = std::all_of(parameters.begin(), parameters.end(),
                                [&](const Tensor& tensor) { return tensor.num_elements() == channels; });
  if (!fits || (has_bias && bias.num_elements() != channels)) return;
  const double epsilon = norm.attrs().real("epsilon", 1e-5F);
  Tensor scaled = weight.clone();
  Tensor shifted(DType::kF32, {channels});
  const int64_t row = channels > 0 ? weight.num_elements() / channels : 0;
  for (int64_t c = 0; c < channels; ++c) {
    const auto at = [&](size_t i) { return static_cast<double>(parameters[i].data<float>()[c]); };
    const double factor = at(0) / std::sqrt(at(3) + epsilon);
    for (int64_t k = 0; k < row; ++k) {
      float& element = scaled.data<float>()[c * row + k];
      element = static_cast<float>(element * factor);
    }
    const double start = has_bias ? bias.data<float>()[c] : 0.0;
    shifted.data<float>()[c] = static_cast<float>((start - at(2)) * factor + at(1));
  }
  Graph& graph = model.graph();
  const std::string name = conv->output()->name();
  graph.set_inputs(
      conv, {conv->input(0), graph.parameter(name + "_weight", scaled), graph.parameter(name + "_bias", shifted)});
  model.replace(norm.output(), conv->output());
}

/// A Dropout whose mask is read, or that trains by itself, does more than to pass its input on.
bool passes_on(const EditedGraph& model, const Node& node) {
  if (is_one_of(node, {"Identity"})) return true;
  if (!is_one_of(node, {"Dropout"})) return false;
  for (size_t i = 1; i < node.outputs().size(); ++i) {
    if (model.graph().is_output(node.output(i)) || !model.graph().consumers(node.output(i)).empty()) return false;
  }
  return node.input(2) == nullptr || node.attrs().flag(onnx::kLearns);
}

}  // namespace

void simplify_graph(EditedGraph& model) {
  for (Node* node : list_nodes(model.graph())) {
    if (passes_on(model, *node) && !model.graph().is_output(node->output())) {
      model.graph().replace(node->output(), node->input(0));
    } else if (is_one_of(*node, {"BatchNormalization"})) {
      fold_norm(model, *node);
    }
  }
  model.tidy();
}

}  // namespace thalweg
