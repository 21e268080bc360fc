// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "nn/init/deterministic.h"

#include <cmath>

#include "nn/init/counter_random.h"
#include "nn/init/fill.h"

namespace thalweg::nn {
namespace {

void fill_uniform(const std::string& name, double bound, const Tensor& result) {
  const uint64_t key = fnv1a64(name);
  auto* out = result.data<float>();
  for_ranges(result.num_elements(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double unit = static_cast<double>(counter_random(key, static_cast<uint64_t>(i)) >> 40) * 0x1p-24;
      out[i] = static_cast<float>((2.0 * unit - 1.0) * bound);
    }
  });
}

void fill_constant(float value, const Tensor& result) {
  auto* out = result.data<float>();
  for_ranges(result.num_elements(), [&](int64_t begin, int64_t end) { std::fill(out + begin, out + end, value); });
}

std::string without_suffix(const std::string& name, const std::string& suffix) {
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : "";
}

/// The batch norm that ends the residual branch of a ResNet block: bn3 of a bottleneck, bn2 of a basic block.
bool ends_residual_branch(const Graph& graph, const std::string& name) {
  if (!name.starts_with("layer")) return false;
  if (name.ends_with(".bn3.weight")) return true;
  const std::string block = without_suffix(name, ".bn2.weight");
  return !block.empty() && graph.find(block + ".bn3.weight") == nullptr;
}

bool is_embedding(const std::string& name) {
  return name.ends_with("embed.weight") || name.ends_with("embedding.weight") || name.ends_with("position.weight");
}

double bound_of(const Graph& graph, const std::string& name, const Shape& shape) {
  if (is_embedding(name)) return 0.1;
  const size_t matrix = name.rfind("weight_");
  if (matrix != std::string::npos) {
    std::string hidden_matrix = name;
    hidden_matrix.replace(matrix, 9, "weight_hh");
    return 1.0 / std::sqrt(static_cast<double>(graph.find(hidden_matrix)->shape()[1]));
  }
  return std::sqrt(6.0 / static_cast<double>(shape.num_elements(1, shape.rank())));
}

}  // namespace

Tensor deterministic_uniform(const std::string& name, const Shape& shape, double bound) {
  Tensor result(DType::kF32, shape);
  fill_uniform(name, bound, result);
  return result;
}

Tensor deterministic_integers(const std::string& name, const Shape& shape, uint64_t below) {
  Tensor result(DType::kI64, shape);
  const uint64_t key = fnv1a64(name);
  for (int64_t i = 0; i < result.num_elements(); ++i) {
    result.data<int64_t>()[i] = static_cast<int64_t>(counter_random(key, static_cast<uint64_t>(i)) % below);
  }
  return result;
}

void deterministic_initialise(Graph& graph) {
  for (const Value* parameter : graph.parameters()) {
    const std::string& name = parameter->name();
    if (ends_residual_branch(graph, name)) {
      fill_constant(0.125F, parameter->data());
    } else if (parameter->shape().rank() == 1) {
      fill_constant(name.ends_with("weight") ? 1.0F : 0.0F, parameter->data());
    } else {
      fill_uniform(name, bound_of(graph, name, parameter->shape()), parameter->data());
    }
  }
}

}  // namespace thalweg::nn
