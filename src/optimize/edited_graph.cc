// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optimize/edited_graph.h"

#include <algorithm>
#include <unordered_set>

#include "formats/onnx/upgrade.h"
#include "graph/compose.h"
#include "graph/meaning.h"
#include "model/model_impl.h"

namespace thalweg {
namespace {

bool is_held(const Value* value) {
  return value->kind() == Value::Kind::kParameter || value->kind() == Value::Kind::kState;
}

/// The weights that a graph, or a graph inside one of its nodes, reads.
void collect_read(const Graph& graph, std::unordered_set<std::string>& names) {
  for (const auto& node : graph.nodes()) {
    for (const Value* input : node->inputs()) {
      if (input != nullptr && is_held(input)) names.insert(input->name());
    }
    for (const auto& [name, item] : node->attrs().items()) {
      if (const auto* body = std::get_if<std::shared_ptr<Graph>>(&item)) collect_read(**body, names);
    }
  }
}

}  // namespace

EditedGraph::EditedGraph(onnx::ImportedModel model)
    : graph_(std::move(model.graph)), metadata_(std::move(model.metadata)), opset_(model.opset) {
  source_ = std::make_shared<const onnx::ImportedModel>(std::move(model));
  for (const StoredWeight& weight : source_->weights) stored_[weight.name] = &weight;
}

EditedGraph::EditedGraph(const EditedGraph& other)
    : source_(other.source_),
      stored_(other.stored_),
      graph_(other.graph_->clone()),
      metadata_(other.metadata_),
      opset_(other.opset_) {}

std::vector<std::string> EditedGraph::upgrade() {
  std::vector<std::string> obstacles = onnx::upgrade(*graph_, opset_);
  if (obstacles.empty()) opset_ = std::max(opset_, onnx::kUpgradedOpset);
  return obstacles;
}

Tensor EditedGraph::content(const std::string& name) const {
  const Value* value = graph_->find(name);
  if (value != nullptr && value->data().defined()) return value->data();
  return stored_.at(name)->load();
}

bool EditedGraph::has_weight(const Value* value) const {
  return value != nullptr && (is_held(value) || value->kind() == Value::Kind::kConstant) &&
         value->dtype() == DType::kF32;
}

Tensor EditedGraph::weight(const Value* value) const {
  if (!has_weight(value)) return {};
  return is_held(value) ? content(value->name()) : value->data();
}

Value* EditedGraph::add(OpId op, std::vector<Value*> inputs, Attributes attrs, const std::string& name,
                        size_t num_outputs) {
  attrs.set(ComposeContext::kOpsetAttribute, opset_);
  return graph_->add_untyped(standard_operator_of(op), std::move(inputs), std::move(attrs), num_outputs, name)
      ->output();
}

void EditedGraph::replace(Value* from, Value* to) {
  to->set_name(from->name());
  if (from->typed()) to->declare(from->type());
  graph_->replace(from, to);
}

void EditedGraph::redirect_readers(const Value* from, Value* to) {
  // Along first inputs: what makes `to` out of `from`, if it is made of that.
  std::unordered_set<const Node*> makers;
  const Value* value = to;
  while (value != nullptr && value != from && value->producer() != nullptr) {
    makers.insert(value->producer());
    value = value->producer()->input(0);
  }
  if (value != from) makers.clear();
  for (Node* reader : graph_->consumers(from)) {
    if (makers.count(reader) > 0) continue;
    std::vector<Value*> inputs = reader->inputs();
    std::replace(inputs.begin(), inputs.end(), const_cast<Value*>(from), to);
    graph_->set_inputs(reader, std::move(inputs));
  }
}

bool EditedGraph::has_one_reader(const Value* value) const {
  return !graph_->is_output(value) && graph_->consumers(value).size() == 1;
}

void EditedGraph::tidy() {
  graph_->sort_nodes();
  graph_->remove_dead_nodes();
}

void EditedGraph::set_metadata(const std::string& key, const std::string& value) {
  if (value.empty()) {
    metadata_.erase(key);
  } else {
    metadata_[key] = value;
  }
}

uint64_t EditedGraph::weight_bytes() const {
  std::unordered_set<std::string> read;
  collect_read(*graph_, read);
  uint64_t bytes = 0;
  const auto count = [&](const Value* value) {
    bytes += static_cast<uint64_t>(value->shape().num_elements()) * size_of(value->dtype());
  };
  for (const std::string& name : read) count(graph_->find(name));
  std::for_each(graph_->constants().begin(), graph_->constants().end(), count);
  return bytes;
}

Model EditedGraph::model(const InferenceOptions& options) const {
  onnx::ImportedModel model;
  model.name = name();
  model.opset = opset_;
  model.metadata = metadata_;
  model.graph = graph_->clone();
  for (const auto* group : {&model.graph->parameters(), &model.graph->states()}) {
    for (Value* value : *group) {
      if (value->data().defined()) {
        model.weights.push_back({value->name(), value->type(), [data = value->take_data()] { return data; }});
      } else {
        model.weights.push_back(*stored_.at(value->name()));
      }
    }
  }
  return make_model(std::move(model), options);
}

void EditedGraph::save(const std::string& path) const {
  onnx::save(
      *graph_, [&](const std::string& name) { return content(name); }, path, metadata_);
}

}  // namespace thalweg
