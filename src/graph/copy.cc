// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "graph/op_registry.h"
#include "thalweg/graph.h"
#include "thalweg/input_error.h"

namespace thalweg {

using Mapping = std::unordered_map<const Value*, Value*>;

/// Parameters, states and constants. Not through parameter() and state(): their data may have moved into a Variables
/// object.
void Graph::copy_held(Graph& target, Mapping& mapping) const {
  const auto copy_to = [&](const Value* value, std::vector<Value*>& list) {
    Value* copied = target.new_value(value->kind_, value->name_, value->type_);
    copied->data_ = value->data_;
    copied->trainable_ = value->trainable_;
    list.push_back(copied);
    mapping[value] = copied;
  };
  for (const Value* value : parameters_) copy_to(value, target.parameters_);
  for (const Value* value : states_) copy_to(value, target.states_);
  for (const Value* value : constants_) {
    const bool named = by_name_.count(value->name_) > 0;
    mapping[value] = target.constant(value->data_, named ? value->name_ : "");
  }
  mapping[nullptr] = nullptr;
}

std::unique_ptr<Graph> Graph::clone(Mapping* mapping) const {
  auto result = std::make_unique<Graph>(name_);
  Mapping local;
  Mapping& map = mapping != nullptr ? *mapping : local;
  for (const Value* input : inputs_) {
    Value* copied = result->untyped_input(input->name_);
    if (input->typed_) copied->declare(input->type_);
    map[input] = copied;
  }
  copy_held(*result, map);
  for (const auto& node : nodes_) {
    std::vector<Value*> inputs;
    for (const Value* input : node->inputs_) inputs.push_back(map.at(input));
    const Node* copied =
        result->add_untyped(node->op_name(), std::move(inputs), node->attrs_, node->outputs_.size(), node->name_);
    for (size_t i = 0; i < node->outputs_.size(); ++i) {
      Value* output = copied->outputs_[i];
      output->name_ = node->outputs_[i]->name_;
      if (node->outputs_[i]->typed_) output->declare(node->outputs_[i]->type_);
      map[node->outputs_[i]] = output;
    }
  }
  for (const Value* output : outputs_) result->outputs_.push_back(map.at(output));
  for (const auto& [state, value] : assignments_) result->assign(map.at(state), map.at(value));
  for (const Gradient& g : gradients_) {
    result->gradients_.push_back({map.at(g.parameter), map.at(g.dense), map.at(g.indices), map.at(g.rows)});
  }
  return result;
}

void Graph::require_fits(size_t index, const TensorType& given) const {
  const Value* input = inputs_[index];
  bool fits = given.shape.is_static();
  if (input->typed_) {
    const TensorType& declared = input->type_;
    fits = fits && declared.dtype == given.dtype && declared.shape.rank() == given.shape.rank();
    for (int d = 0; fits && d < given.shape.rank(); ++d) {
      fits = declared.shape[d] == kFree || declared.shape[d] == given.shape[d];
    }
  }
  if (fits) return;
  raise_input_error("input '", input->name_, "' of graph '", name_, "' takes ", input->type_, ", got ", given);
}

std::unique_ptr<Graph> Graph::copy_values(const std::vector<TensorType>& input_types, Mapping& mapping) const {
  if (input_types.size() != inputs_.size()) {
    raise_input_error("graph '", name_, "' has ", inputs_.size(), " inputs, got ", input_types.size());
  }
  auto result = std::make_unique<Graph>(name_);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    require_fits(i, input_types[i]);
    mapping[inputs_[i]] = result->input(inputs_[i]->name_, input_types[i]);
  }
  copy_held(*result, mapping);
  return result;
}

}  // namespace thalweg
