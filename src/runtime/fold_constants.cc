// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "graph/op_registry.h"
#include "runtime/kernel.h"
#include "thalweg/passes.h"

namespace thalweg {
namespace {

/// Larger results stay nodes: the runtime computes them once anyway, and the graph stays small on disk.
constexpr int64_t kMaxFoldedElements = int64_t{1} << 22;

bool foldable(const Graph& graph, const Node& node) {
  if (node.op().impure || node.inputs().empty()) return false;
  const auto constant = [](const Value* v) { return v == nullptr || v->kind() == Value::Kind::kConstant; };
  const auto small = [&](const Value* v) {
    return v->shape().is_static() && v->shape().num_elements() <= kMaxFoldedElements && !graph.is_output(v);
  };
  return std::all_of(node.inputs().begin(), node.inputs().end(), constant) &&
         std::all_of(node.outputs().begin(), node.outputs().end(), small);
}

}  // namespace

bool evaluate(const Node& node, std::vector<Tensor>& results) {
  const auto& candidates = kernel_candidates(node.op_name());
  if (candidates.empty()) return false;
  std::string declined;
  const auto kernel = candidates.back().factory({node, plain_inputs(node), 1, {}}, declined);
  if (kernel == nullptr) return false;
  if (kernel->alias_of_input >= 0) {
    results = {node.input(static_cast<size_t>(kernel->alias_of_input))->data().reshaped(node.output()->shape())};
    return true;
  }
  std::vector<void*> in, out;
  for (const Value* input : node.inputs()) in.push_back(input != nullptr ? input->data().raw() : nullptr);
  for (const Value* output : node.outputs()) {
    results.emplace_back(output->type());
    out.push_back(results.back().raw());
  }
  Tensor scratch(DType::kU8, {static_cast<int64_t>(kernel->scratch_bytes)});
  const auto state = kernel->new_state();
  kernel->run({in, out, scratch.raw(), state.get(), 1, 0});
  return true;
}

void fold_constants(Graph& graph) {
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = *graph.nodes()[i];
    std::vector<Tensor> results;
    if (!foldable(graph, node) || !evaluate(node, results)) continue;
    for (size_t o = 0; o < results.size(); ++o) graph.replace(node.output(o), graph.constant(results[o]));
  }
  graph.remove_dead_nodes();
}

}  // namespace thalweg
