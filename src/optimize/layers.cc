// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optimize/layers.h"

#include <algorithm>

#include "base/text.h"

namespace thalweg {
namespace {

using onnx::NodeProto;

bool has_elements(const std::vector<int64_t>& dims) {
  return std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim > 0; });
}

}  // namespace

bool is_one_of(const NodeProto& node, std::initializer_list<const char*> ops) {
  return onnx::normal_domain(node.domain).empty() &&
         std::any_of(ops.begin(), ops.end(), [&](const char* op) { return node.op_type == op; });
}

bool is_matrix_product(const ModelEditor& model, const NodeProto& node) {
  if (!is_one_of(node, {"MatMul", "Gemm"}) || node.input.size() < 2) return false;
  const auto dims = model.weight_dims(node.input[1]);
  if (!dims.has_value() || dims->size() != 2 || !has_elements(*dims)) return false;
  return node.op_type == "MatMul" ||
         (integer_attribute(node, "transA", 0) == 0 && float_attribute(node, "alpha", 1.0f) == 1.0f &&
          float_attribute(node, "beta", 1.0f) == 1.0f);
}

bool is_layer(const ModelEditor& model, const NodeProto& node) {
  if (is_matrix_product(model, node)) return true;
  if (!is_one_of(node, {"Conv"}) || node.input.size() < 2) return false;
  const auto dims = model.weight_dims(node.input[1]);
  return dims.has_value() && dims->size() >= 3 && has_elements(*dims);
}

std::vector<Layer> quantizable_layers(const ModelEditor& model) {
  std::vector<Layer> layers;
  for (const NodeProto& node : model.graph().node) {
    if (!is_layer(model, node)) continue;
    layers.push_back({node.output[0], node.op_type + " " + printable(node.name.empty() ? node.output[0] : node.name)});
  }
  return layers;
}

}  // namespace thalweg
