// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optimize/quantize_model.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "graph/meaning.h"
#include "ops/ids.h"
#include "optimize/encode.h"
#include "optimize/layers.h"
#include "passes/rewrite.h"

namespace thalweg {
namespace {

/// Whether the result has the encoding of the input.
bool moves_elements(const Node& node) {
  return meaning_of(node).has(Trait::kMovesElements) && node.outputs().size() == 1;
}

/// Which values are to be quantised, and whose range each takes: that of the value it only moves elements of.
class ValueChoice {
 public:
  ValueChoice(const EditedGraph& model, const std::set<std::string>& kept) : model_(model) {
    for (Node* node : list_nodes(model.graph())) {
      place_.emplace(node, place_.size());
      if (is_layer(model, *node) && kept.count(node->output()->name()) == 0) layers_.push_back(node);
    }
    for (const Node* layer : layers_) choose(layer->input(0));
    for (const auto& node : model.graph().nodes()) {
      if (means(*node, op::kAdd)) choose_addend(*node);
    }
  }

  const std::vector<Node*>& layers() const { return layers_; }
  /// Value and the value whose range it takes, in the order in which they were chosen.
  const std::vector<std::pair<Value*, Value*>>& values() const { return values_; }

 private:
  Value* choose(Value* value) {
    for (const auto& [known, root] : values_) {
      if (known == value) return root;
    }
    const bool moved = value->producer() != nullptr && moves_elements(*value->producer());
    Value* root = moved ? choose(value->producer()->input(0)) : value;
    values_.emplace_back(value, root);
    return root;
  }

  /// The layer that makes `value` for nobody but one reader.
  bool is_own_layer(const Value* value) const {
    return value->producer() != nullptr &&
           std::find(layers_.begin(), layers_.end(), value->producer()) != layers_.end() &&
           model_.has_one_reader(value);
  }

  /// A layer adds what is quantised to its own result; so one of two sides is.
  void choose_addend(const Node& sum) {
    const bool left = is_own_layer(sum.input(0)), right = is_own_layer(sum.input(1));
    if (!left && !right) return;
    const auto place = [&](size_t i) { return place_.at(sum.input(i)->producer()); };
    const bool later = left && right ? place(0) > place(1) : left;
    Value* other = sum.input(later ? 1 : 0);
    if (other->producer() != nullptr) choose(other);
  }

  const EditedGraph& model_;
  std::unordered_map<const Node*, size_t> place_;
  std::vector<Node*> layers_;
  std::vector<std::pair<Value*, Value*>> values_;
};

struct Encoding {
  Value* scale = nullptr;
  Value* zero = nullptr;
};

void quantize_value(EditedGraph& model, Value* value, const Encoding& encoding) {
  Value* integers = model.add(op::kQuantize, {value, encoding.scale, encoding.zero}, {}, value->name() + "_quantized");
  Value* back =
      model.add(op::kDequantize, {integers, encoding.scale, encoding.zero}, {}, value->name() + "_dequantized");
  model.redirect_readers(value, back);
}

/// The weight's numbers, made of integers; `transpose` turns a matrix first.
Value* quantize_weight(EditedGraph& model, const Value* weight, int64_t axis, bool transpose) {
  Graph& graph = model.graph();
  const Tensor content = model.weight(weight);
  const EncodedWeight encoded = encode_weight(transpose ? transposed_matrix(content) : content, static_cast<int>(axis));
  Value* zeros = graph.constant(Tensor::zeros(DType::kI8, encoded.scales.shape()));
  return model.add(op::kDequantize, {graph.constant(encoded.integers), graph.constant(encoded.scales), zeros},
                   {{"axis", axis}}, weight->name() + "_dequantized");
}

void quantize_weights(EditedGraph& model, const std::vector<Node*>& layers) {
  std::map<std::pair<const Value*, bool>, Value*> weights;
  for (Node* layer : layers) {
    const bool by_columns = means(*layer, op::kMatmul);
    const bool transpose = means(*layer, op::kLinear) && !layer->attrs().flag("transB");
    Value*& weight = weights[{layer->input(1), by_columns}];
    if (weight == nullptr) weight = quantize_weight(model, layer->input(1), by_columns ? 1 : 0, transpose);
    std::vector<Value*> inputs = layer->inputs();
    inputs[1] = weight;
    model.graph().set_inputs(layer, std::move(inputs));
    if (transpose) model.graph().set_attribute(layer, "transB", int64_t{1});
  }
}

void quantize_values(EditedGraph& model, const std::vector<std::pair<Value*, Value*>>& values,
                     const std::map<std::string, Range>& ranges) {
  std::map<const Value*, Encoding> encodings;
  for (const auto& [value, root] : values) {
    Encoding& encoding = encodings[root];
    if (encoding.scale == nullptr) {
      const ByteEncoding bytes = byte_encoding(ranges.at(root->name()));
      encoding = {model.graph().constant(Tensor::scalar<float>(bytes.scale)),
                  model.graph().constant(Tensor::scalar<uint8_t>(bytes.zero))};
    }
    quantize_value(model, value, encoding);
  }
}

}  // namespace

std::vector<std::string> values_to_calibrate(const EditedGraph& model) {
  std::set<std::string> roots;
  const ValueChoice choice(model, {});
  for (const auto& [value, root] : choice.values()) roots.insert(root->name());
  return {roots.begin(), roots.end()};
}

int quantize_model(EditedGraph& model, const std::map<std::string, Range>& ranges, const std::set<std::string>& kept) {
  const ValueChoice choice(model, kept);
  quantize_weights(model, choice.layers());
  quantize_values(model, choice.values(), ranges);
  model.tidy();
  return static_cast<int>(choice.layers().size());
}

}  // namespace thalweg
