// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optimize/narrow_weights.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "ops/ids.h"
#include "optimize/layers.h"

namespace thalweg {
namespace {

/// Smaller ones (biases, scales) are not worth a node.
constexpr int64_t kSmallest = 1024;

Tensor narrowed(const std::string& name, const Tensor& weight, DType dtype) {
  if (dtype == DType::kF16) {
    constexpr float kLargest = 65504.0f;
    const float* values = weight.data<float>();
    const bool fits =
        std::all_of(values, values + weight.num_elements(), [](float value) { return std::fabs(value) <= kLargest; });
    TW_REQUIRE(fits, "the weight ", printable(name), " has elements that f16 cannot hold");
  }
  return weight.to(dtype);
}

}  // namespace

void narrow_weights(EditedGraph& model, DType dtype) {
  Graph& graph = model.graph();
  const std::vector<Value*> parameters = graph.parameters();
  for (Value* value : parameters) {
    if (!model.has_weight(value) || value->shape().rank() < 2) continue;
    if (value->shape().num_elements() < kSmallest || graph.consumers(value).empty()) continue;
    const std::string& name = value->name();
    Value* narrow = graph.constant(narrowed(name, model.weight(value), dtype), name + "_" + name_of(dtype));
    Value* wide = model.add(op::kCast, {narrow}, {{"to", static_cast<int64_t>(onnx::DataType::kFloat)}}, name + "_f32");
    model.redirect_readers(value, wide);
  }
  model.tidy();
}

}  // namespace thalweg
