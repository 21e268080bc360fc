// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optimize/quantize_dynamic.h"

#include <map>

#include "optimize/encode.h"
#include "optimize/layers.h"

namespace thalweg {
namespace {

using onnx::NodeProto;

/// Names of what DynamicQuantizeLinear makes of a value.
struct DynamicNames {
  std::string integers, scale, zero;
};

DynamicNames quantize_value(ModelEditor& model, const std::string& value) {
  DynamicNames names{model.new_name(value + "_quantized"), model.new_name(value + "_scale"),
                     model.new_name(value + "_zero")};
  NodeProto node = make_node("DynamicQuantizeLinear", {value}, names.integers);
  node.output = {names.integers, names.scale, names.zero};
  model.insert_after(value, {node});
  return names;
}

/// The nodes that make what `product` made.
std::vector<NodeProto> integer_product(ModelEditor& model, const NodeProto& product, const DynamicNames& x) {
  const std::string& output = product.output[0];
  const Tensor stored = model.weight(product.input[1]);
  const bool by_rows = product.op_type == "Gemm" && integer_attribute(product, "transB", 0) != 0;
  const EncodedWeight weight = encode_weight(by_rows ? transposed_matrix(stored) : stored, 1);
  const std::string integers = model.add_initializer(product.input[1] + "_quantized", weight.integers);
  const std::string scales = model.add_initializer(product.input[1] + "_scale", weight.scales);
  const std::string sum = model.new_name(output + "_sum"), real = model.new_name(output + "_real"),
                    scale = model.new_name(output + "_scale");
  const bool biased = product.input.size() > 2 && !product.input[2].empty();
  const std::string scaled = biased ? model.new_name(output + "_product") : output;
  std::vector<NodeProto> nodes{make_node("MatMulInteger", {x.integers, integers, x.zero}, sum),
                               make_node("Cast", {sum}, real), make_node("Mul", {x.scale, scales}, scale),
                               make_node("Mul", {real, scale}, scaled)};
  set_integer_attribute(nodes[1], "to", static_cast<int64_t>(onnx::DataType::kFloat));
  if (biased) nodes.push_back(make_node("Add", {scaled, product.input[2]}, output));
  return nodes;
}

}  // namespace

int quantize_dynamically(ModelEditor& model) {
  std::vector<NodeProto> products;
  for (const NodeProto& node : model.graph().node) {
    if (is_matrix_product(model, node)) products.push_back(node);
  }
  std::map<std::string, DynamicNames> values;
  for (const NodeProto& product : products) {
    DynamicNames& x = values[product.input[0]];
    if (x.integers.empty()) x = quantize_value(model, product.input[0]);
    model.insert_after(product.output[0], integer_product(model, product, x));
    model.remove_nodes([&](size_t i) {
      const NodeProto& node = model.graph().node[i];
      return node.output == product.output && node.op_type == product.op_type;
    });
  }
  model.remove_unread_initializers();
  return static_cast<int>(products.size());
}

}  // namespace thalweg
