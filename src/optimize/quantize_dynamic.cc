// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optimize/quantize_dynamic.h"

#include <map>

#include "ops/ids.h"
#include "optimize/encode.h"
#include "optimize/layers.h"
#include "passes/rewrite.h"

namespace thalweg {
namespace {

/// What quantising a value by its range makes of it.
struct Dynamic {
  Value* integers = nullptr;
  Value* scale = nullptr;
  Value* zero = nullptr;
};

Dynamic quantize_value(EditedGraph& model, Value* value) {
  const Node* node = model.add(op::kDynamicQuantize, {value}, {}, value->name() + "_quantized", 3)->producer();
  return {node->output(0), node->output(1), node->output(2)};
}

/// What computes the same as `product`.
Value* integer_product(EditedGraph& model, const Node& product, const Dynamic& x) {
  Graph& graph = model.graph();
  const std::string& name = product.output()->name();
  const Tensor stored = model.weight(product.input(1));
  const bool by_rows = product.attrs().flag("transB");
  const EncodedWeight weight = encode_weight(by_rows ? transposed_matrix(stored) : stored, 1);
  Value* sum = model.add(op::kMatmulInteger, {x.integers, graph.constant(weight.integers), x.zero}, {}, name + "_sum");
  Value* real = model.add(op::kCast, {sum}, {{"to", static_cast<int64_t>(onnx::DataType::kFloat)}}, name + "_real");
  Value* scale = model.add(op::kMul, {x.scale, graph.constant(weight.scales)}, {}, name + "_scale");
  Value* scaled = model.add(op::kMul, {real, scale}, {}, name + "_product");
  Value* bias = product.input(2);
  return bias != nullptr ? model.add(op::kAdd, {scaled, bias}, {}, name + "_biased") : scaled;
}

}  // namespace

int quantize_dynamically(EditedGraph& model) {
  std::vector<Node*> products;
  for (Node* node : list_nodes(model.graph())) {
    if (is_matrix_product(model, *node)) products.push_back(node);
  }
  std::map<const Value*, Dynamic> values;
  for (const Node* product : products) {
    Dynamic& x = values[product->input(0)];
    if (x.integers == nullptr) x = quantize_value(model, product->input(0));
    model.replace(product->output(), integer_product(model, *product, x));
  }
  model.tidy();
  return static_cast<int>(products.size());
}

}  // namespace thalweg
