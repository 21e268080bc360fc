// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "graph/op_registry.h"
#include "thalweg/graph.h"
#include "thalweg/input_error.h"

namespace thalweg {

using Mapping = std::unordered_map<const Value*, Value*>;

std::unique_ptr<Graph> Graph::copy(const std::vector<TensorType>* input_types, Mapping* mapping) const {
  auto result = std::make_unique<Graph>(name_);
  Mapping local;
  Mapping& map = mapping != nullptr ? *mapping : local;
  map[nullptr] = nullptr;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    map[inputs_[i]] = result->input(inputs_[i]->name_, input_types != nullptr ? (*input_types)[i] : inputs_[i]->type_);
  }
  // Not through parameter() and state(): their data may have moved into a Variables object.
  const auto copy_held = [&](const Value* value, std::vector<Value*>& list) {
    Value* copied = result->new_value(value->kind_, value->name_, value->type_);
    copied->data_ = value->data_;
    copied->trainable_ = value->trainable_;
    list.push_back(copied);
    map[value] = copied;
  };
  for (const Value* value : parameters_) copy_held(value, result->parameters_);
  for (const Value* value : states_) copy_held(value, result->states_);
  for (const Value* value : constants_) {
    const bool named = by_name_.count(value->name_) > 0;
    map[value] = result->constant(value->data_, named ? value->name_ : "");
  }
  for (const auto& node : nodes_) {
    std::vector<Value*> inputs;
    for (const Value* input : node->inputs_) inputs.push_back(map.at(input));
    const Node* copied = result->add(node->op_name(), std::move(inputs), node->attrs_, node->name_);
    for (size_t i = 0; i < node->outputs_.size(); ++i) {
      copied->outputs_[i]->name_ = node->outputs_[i]->name_;
      map[node->outputs_[i]] = copied->outputs_[i];
    }
  }
  for (const Value* output : outputs_) result->outputs_.push_back(map.at(output));
  for (const auto& [state, value] : assignments_) result->assign(map.at(state), map.at(value));
  for (const Gradient& g : gradients_) {
    result->gradients_.push_back({map.at(g.parameter), map.at(g.dense), map.at(g.indices), map.at(g.rows)});
  }
  return result;
}

std::unique_ptr<Graph> Graph::clone(Mapping* mapping) const { return copy(nullptr, mapping); }

std::unique_ptr<Graph> Graph::specialize(const std::vector<TensorType>& input_types, Mapping* mapping) const {
  if (input_types.size() != inputs_.size()) {
    raise_input_error("graph '", name_, "' has ", inputs_.size(), " inputs, got ", input_types.size());
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const TensorType& declared = inputs_[i]->type_;
    const TensorType& given = input_types[i];
    bool fits = declared.dtype == given.dtype && declared.shape.rank() == given.shape.rank() && given.shape.is_static();
    for (int d = 0; fits && d < given.shape.rank(); ++d) {
      fits = declared.shape[d] == kFree || declared.shape[d] == given.shape[d];
    }
    if (!fits)
      raise_input_error("input '", inputs_[i]->name_, "' of graph '", name_, "' takes ", declared, ", got ", given);
  }
  auto result = copy(&input_types, mapping);
  for (const auto& node : result->nodes_) {
    for (const Value* output : node->outputs_) {
      TW_REQUIRE(output->type_.shape.is_static(), describe(*node), ": shape ", output->type_.shape,
                 " depends on the data and cannot be compiled");
    }
  }
  return result;
}

}  // namespace thalweg
