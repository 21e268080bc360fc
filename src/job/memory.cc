// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "job/memory.h"

#include <algorithm>

#include "runtime/specialize.h"

namespace thalweg::job {
namespace {

int64_t bytes_of(const TensorType& type) {
  return type.shape.num_elements() * static_cast<int64_t>(size_of(type.dtype));
}

/// That the optimiser keeps for each element.
int64_t slots_of(const Training& training) {
  optim::Optimizer optimizer = optim::make_optimizer(training.optimizer, training.optimizer_options);
  return static_cast<int64_t>(optimizer.slots(optimizer.add_parameter("probe", 1)).size());
}

int64_t sample_bytes(const Graph& graph) {
  std::vector<TensorType> types;
  int64_t samples = 1;
  for (const Value* input : graph.inputs()) {
    TensorType& type = types.emplace_back(input->type());
    if (type.shape.rank() == 0) continue;
    if (type.shape[0] == kFree) type.shape[0] = 1;
    if (!type.shape.is_static()) return 0;
    samples = std::max(samples, type.shape[0]);
  }
  const std::unique_ptr<Graph> one = specialize(graph, types);
  int64_t bytes = 0;
  for (const auto& node : one->nodes()) {
    for (const Value* output : node->outputs()) bytes += bytes_of(output->type());
  }
  return bytes / samples;
}

}  // namespace

int64_t weight_bytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const Value* parameter : graph.parameters()) bytes += bytes_of(parameter->type());
  for (const Value* state : graph.states()) bytes += bytes_of(state->type());
  return bytes;
}

MemoryEstimate estimate_memory(const Graph& graph, const Training& training) {
  MemoryEstimate estimate;
  const int64_t copies = 3 + slots_of(training);  // itself, its gradient, and that in the buffers of the exchange
  for (const Value* parameter : graph.parameters()) {
    estimate.weights += bytes_of(parameter->type()) * (parameter->trainable() ? copies : 1);
  }
  for (const Value* state : graph.states()) estimate.weights += bytes_of(state->type());
  estimate.sample = sample_bytes(graph);
  return estimate;
}

}  // namespace thalweg::job
