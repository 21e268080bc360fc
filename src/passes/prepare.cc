// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "passes/absorb_padding.h"
#include "passes/channel_shuffles.h"
#include "passes/group_norms.h"
#include "thalweg/autodiff.h"
#include "thalweg/passes.h"

namespace thalweg {

void prepare_for_training(Graph& graph, Value* loss, Precision precision) {
  if (!graph.is_output(loss)) graph.mark_output(loss);
  // Passes may put another node in the place of the loss; its place among the outputs stays.
  const auto place = std::find(graph.outputs().begin(), graph.outputs().end(), loss) - graph.outputs().begin();
  simplify(graph);
  say_whole_activations(graph);
  fuse_for_training(graph);
  if (precision == Precision::kBF16) use_bf16(graph);
  add_gradients(graph, graph.outputs()[static_cast<size_t>(place)]);
  simplify(graph);
  if (precision == Precision::kBF16) widen_weight_gradients(graph);
  fuse_gradient_sums(graph);
}

void prepare_for_inference(Graph& graph, Precision precision) {
  to_inference(graph);
  simplify(graph);
  absorb_padding(graph);
  say_whole_activations(graph);
  say_whole_layers(graph);
  say_group_norms(graph);
  say_channel_shuffles(graph);
  fuse_for_inference(graph);
  use_int8(graph);
  if (precision == Precision::kBF16) use_bf16(graph);
  simplify(graph);
  fuse_elementwise(graph);
}

}  // namespace thalweg
