// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optimize/quantize_model.h"

#include <algorithm>
#include <unordered_map>

#include "optimize/encode.h"
#include "optimize/layers.h"

namespace thalweg {
namespace {

using onnx::NodeProto;

/// Ops whose result has the encoding of their input.
bool moves_elements(const NodeProto& node) {
  return is_one_of(node, {"MaxPool", "Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze"}) &&
         node.output.size() == 1;
}

/// Which values are to be quantised, and whose range each takes: that of the value it only moves elements of.
class ValueChoice {
 public:
  ValueChoice(const ModelEditor& model, const std::set<std::string>& kept) : model_(model) {
    const auto& nodes = model.graph().node;
    for (size_t i = 0; i < nodes.size(); ++i) {
      for (const std::string& output : nodes[i].output) producer_[output] = i;
      if (is_layer(model, nodes[i]) && kept.count(nodes[i].output[0]) == 0) layers_.push_back(i);
    }
    for (const size_t layer : layers_) choose(nodes[layer].input[0]);
    for (const NodeProto& node : nodes) {
      if (is_one_of(node, {"Add"})) choose_addend(node);
    }
  }

  const std::vector<size_t>& layers() const { return layers_; }
  /// Value -> the value whose range it takes.
  const std::map<std::string, std::string>& values() const { return values_; }

 private:
  std::string choose(const std::string& value) {
    const auto known = values_.find(value);
    if (known != values_.end()) return known->second;
    const auto made = producer_.find(value);
    const bool moved = made != producer_.end() && moves_elements(model_.graph().node[made->second]);
    const std::string root = moved ? choose(model_.graph().node[made->second].input[0]) : value;
    values_[value] = root;
    return root;
  }

  /// The layer that makes `value` for nobody but one reader.
  bool is_own_layer(const std::string& value) const {
    const auto made = producer_.find(value);
    return made != producer_.end() && std::find(layers_.begin(), layers_.end(), made->second) != layers_.end() &&
           model_.readers(value).size() == 1;
  }

  /// A layer adds what is quantised to its own result; so one of two sides is.
  void choose_addend(const NodeProto& sum) {
    const bool left = is_own_layer(sum.input[0]), right = is_own_layer(sum.input[1]);
    if (!left && !right) return;
    const bool later = left && right ? producer_.at(sum.input[0]) > producer_.at(sum.input[1]) : left;
    const std::string& other = sum.input[later ? 1 : 0];
    if (producer_.count(other) > 0) choose(other);
  }

  const ModelEditor& model_;
  std::unordered_map<std::string, size_t> producer_;
  std::vector<size_t> layers_;
  std::map<std::string, std::string> values_;
};

/// Names of the initialisers that hold a scale and a zero.
struct EncodingNames {
  std::string scale, zero;
};

void quantize_value(ModelEditor& model, const std::string& value, const EncodingNames& encoding) {
  const std::string integers = model.new_name(value + "_quantized");
  const std::string back = model.new_name(value + "_dequantized");
  for (const int reader : model.readers(value)) {
    if (reader < 0) continue;
    NodeProto& node = model.graph().node[static_cast<size_t>(reader)];
    if (!is_one_of(node, {"Shape"})) std::replace(node.input.begin(), node.input.end(), value, back);
  }
  model.insert_after(value, {make_node("QuantizeLinear", {value, encoding.scale, encoding.zero}, integers),
                             make_node("DequantizeLinear", {integers, encoding.scale, encoding.zero}, back)});
}

/// The name of the weight's numbers, made of integers; `transpose` turns a matrix first.
std::string quantize_weight(ModelEditor& model, const std::string& name, int axis, bool transpose) {
  const Tensor weight = transpose ? transposed_matrix(model.weight(name)) : model.weight(name);
  const EncodedWeight encoded = encode_weight(weight, axis);
  const std::string integers = model.add_initializer(name + "_quantized", encoded.integers);
  const std::string scales = model.add_initializer(name + "_scale", encoded.scales);
  const std::string zeros = model.add_initializer(name + "_zero", Tensor::zeros(DType::kI8, encoded.scales.shape()));
  const std::string back = model.new_name(name + "_dequantized");
  NodeProto node = make_node("DequantizeLinear", {integers, scales, zeros}, back);
  set_integer_attribute(node, "axis", axis);
  model.insert_after("", {node});
  return back;
}

void quantize_weights(ModelEditor& model, const std::vector<std::string>& outputs) {
  std::map<std::string, std::string> weights;
  for (const std::string& output : outputs) {
    const NodeProto node = *model.producer(output);
    const bool by_columns = node.op_type == "MatMul";
    const bool transpose = node.op_type == "Gemm" && integer_attribute(node, "transB", 0) == 0;
    std::string& weight = weights[node.input[1] + (by_columns ? " by columns" : " by rows")];
    if (weight.empty()) weight = quantize_weight(model, node.input[1], by_columns ? 1 : 0, transpose);
    NodeProto& changed = *model.producer(output);
    changed.input[1] = weight;
    if (transpose) set_integer_attribute(changed, "transB", 1);
  }
}

void quantize_values(ModelEditor& model, const std::map<std::string, std::string>& values,
                     const std::map<std::string, Range>& ranges) {
  std::map<std::string, EncodingNames> encodings;
  for (const auto& [value, root] : values) {
    EncodingNames& names = encodings[root];
    if (names.scale.empty()) {
      const ByteEncoding encoding = byte_encoding(ranges.at(root));
      names.scale = model.add_initializer(root + "_scale", Tensor::scalar<float>(encoding.scale));
      names.zero = model.add_initializer(root + "_zero", Tensor::scalar<uint8_t>(encoding.zero));
    }
    quantize_value(model, value, names);
  }
}

}  // namespace

std::vector<std::string> values_to_calibrate(const ModelEditor& model) {
  std::set<std::string> roots;
  const ValueChoice choice(model, {});
  for (const auto& [value, root] : choice.values()) roots.insert(root);
  return {roots.begin(), roots.end()};
}

int quantize_model(ModelEditor& model, const std::map<std::string, Range>& ranges, const std::set<std::string>& kept) {
  const ValueChoice choice(model, kept);
  std::vector<std::string> outputs;
  for (const size_t layer : choice.layers()) outputs.push_back(model.graph().node[layer].output[0]);
  quantize_weights(model, outputs);
  quantize_values(model, choice.values(), ranges);
  model.remove_unread_initializers();
  return static_cast<int>(outputs.size());
}

}  // namespace thalweg
