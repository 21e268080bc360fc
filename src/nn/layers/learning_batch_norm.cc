// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "nn/layers/learning_batch_norm.h"

#include "thalweg/ops/elementwise.h"
#include "thalweg/ops/norm.h"
#include "thalweg/ops/shape.h"

namespace thalweg::nn {
namespace {

/// (1 - momentum) * state + momentum * batch becomes the state.
void track(Graph& graph, Value* state, Value* batch, double momentum) {
  graph.assign(state, ops::add(ops::mul(state, 1.0 - momentum), ops::mul(batch, momentum)));
}

/// The batch's variance with n - 1 in place of n, where n, all but the channels, may be unknown until compilation.
Value* unbiased(Value* x, Value* variance) {
  std::vector<int64_t> axes{0};
  for (int i = 2; i < x->shape().rank(); ++i) axes.push_back(i);
  Value* n = ops::element_count(x, axes);
  return ops::mul(variance, ops::div(n, ops::maximum(ops::sub(n, 1.0), ops::scalar_like(n, 1.0))));
}

}  // namespace

Value* learning_batch_norm(Value* x, Value* scale, Value* shift, Value* running_mean, Value* running_variance,
                           double epsilon, double momentum, const std::string& name) {
  Graph& graph = x->graph();
  const auto result = ops::batch_norm(x, scale, shift, nullptr, epsilon, "", name);
  Node* node = result.y->producer();
  graph.set_attribute(node, "running_mean", running_mean->name());
  graph.set_attribute(node, "running_variance", running_variance->name());
  // As ONNX has it.
  graph.set_attribute(node, "momentum", 1.0 - momentum);
  track(graph, running_mean, result.mean, momentum);
  track(graph, running_variance, unbiased(x, result.variance), momentum);
  return result.y;
}

}  // namespace thalweg::nn
