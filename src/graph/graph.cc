// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph.h"

#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "graph/meaning.h"

namespace thalweg {
namespace {

void require_countable(const std::string& what, const TensorType& type) {
  int64_t count = 1;
  for (const int64_t dim : type.shape) {
    const int64_t extent = std::max<int64_t>(dim, 1);
    TW_REQUIRE(extent <= kMostElements / count, what, ": ", type, " has too many elements");
    count *= extent;
  }
}

}  // namespace

const std::string& Node::op_name() const { return op_->name; }

std::string describe(const Node& node) {
  if (node.op().infer) return node.op_name() + " '" + node.name() + "'";
  // A standard operator, by the name that it has in files; a file may give a node any name.
  return name_in_files(node.op()) + " " + printable(node.name());
}

void Value::raise_untyped() const {
  throw TypeUnknown("the type of '" + name_ +
                    "' is known only once the graph is specialised for the shapes of its inputs");
}

void Value::set_data(Tensor data) {
  TW_REQUIRE(data.defined() && data.type() == type_, "'", name_, "' has type ", type_, " and cannot hold ",
             data.type());
  data_ = std::move(data);
}

Value* Graph::new_value(Value::Kind kind, const std::string& name, TensorType type) {
  require_countable("'" + name + "'", type);
  auto value = std::make_shared<Value>();
  value->kind_ = kind;
  value->id_ = next_value_id_++;
  value->name_ = name.empty() ? "v" + std::to_string(value->id_) : name;
  value->type_ = std::move(type);
  value->graph_ = this;
  if (!name.empty() && kind != Value::Kind::kComputed) {
    TW_REQUIRE(by_name_.emplace(name, value.get()).second, "graph '", name_, "' has two values named '", name, "'");
  }
  values_.push_back(std::move(value));
  return values_.back().get();
}

Value* Graph::input(const std::string& name, TensorType type) {
  TW_REQUIRE(!name.empty(), "an input of graph '", name_, "' needs a name");
  inputs_.push_back(new_value(Value::Kind::kInput, name, std::move(type)));
  return inputs_.back();
}

Value* Graph::parameter(const std::string& name, Tensor data, bool trainable) {
  TW_REQUIRE(!name.empty() && data.defined(), "a parameter of graph '", name_, "' needs a name and data");
  Value* value = new_value(Value::Kind::kParameter, name, data.type());
  value->data_ = std::move(data);
  value->trainable_ = trainable;
  parameters_.push_back(value);
  return value;
}

Value* Graph::held_parameter(const std::string& name, TensorType type) {
  parameters_.push_back(new_value(Value::Kind::kParameter, name, std::move(type)));
  return parameters_.back();
}

Value* Graph::state(const std::string& name, Tensor data) {
  TW_REQUIRE(!name.empty() && data.defined(), "a state of graph '", name_, "' needs a name and data");
  Value* value = new_value(Value::Kind::kState, name, data.type());
  value->data_ = std::move(data);
  states_.push_back(value);
  return value;
}

Value* Graph::held_state(const std::string& name, TensorType type) {
  states_.push_back(new_value(Value::Kind::kState, name, std::move(type)));
  return states_.back();
}

Value* Graph::constant(Tensor data, const std::string& name) {
  TW_REQUIRE(data.defined(), "a constant of graph '", name_, "' needs data");
  Value* value = new_value(Value::Kind::kConstant, name, data.type());
  value->data_ = std::move(data);
  constants_.push_back(value);
  return value;
}

Value* Graph::new_untyped(Value::Kind kind, const std::string& name) {
  Value* value = new_value(kind, name, {});
  value->typed_ = false;
  return value;
}

Value* Graph::untyped_input(const std::string& name) {
  inputs_.push_back(new_untyped(Value::Kind::kInput, name));
  return inputs_.back();
}

Node* Graph::append(const OpDef& op, std::vector<Value*> inputs, Attributes attrs, const std::string& name) {
  const auto count = static_cast<int>(inputs.size());
  TW_REQUIRE(count >= op.min_inputs && (op.max_inputs < 0 || count <= op.max_inputs), op.name, " '", name, "': takes ",
             op.min_inputs, " to ", op.max_inputs, " inputs, got ", count);
  for (const Value* value : inputs) {
    TW_REQUIRE(value == nullptr || value->graph_ == this, op.name, " '", name, "': input '", value->name(),
               "' belongs to another graph");
  }
  if (op.infer) {
    attrs.declared_ = &op.attributes;
    const std::string problem = attribute_problem(attrs, op.attributes);
    if (!problem.empty()) InferContext(op.name, name, inputs, attrs).fail(problem);
  }
  auto node = std::make_unique<Node>();
  node->op_ = &op;
  node->id_ = next_node_id_++;
  node->name_ = name.empty() ? op.name + "_" + std::to_string(node->id_) : name;
  node->inputs_ = std::move(inputs);
  node->attrs_ = std::move(attrs);
  node->graph_ = this;
  nodes_.push_back(std::move(node));
  return nodes_.back().get();
}

void Graph::add_output(Node* node, Value* output) const {
  const size_t index = node->outputs_.size();
  output->name_ = index == 0 ? node->name_ : node->name_ + ":" + std::to_string(index);
  output->producer_ = node;
  output->output_index_ = static_cast<int>(index);
  node->outputs_.push_back(output);
}

Node* Graph::add(const std::string& op, std::vector<Value*> inputs, Attributes attrs, const std::string& name) {
  const OpDef& definition = find_op(op);
  TW_REQUIRE(definition.infer, op, " '", name,
             "': the op has no shape rule; its types are found when the graph is "
             "specialised");
  while (!inputs.empty() && inputs.back() == nullptr) inputs.pop_back();
  Node* node = append(definition, std::move(inputs), std::move(attrs), name);
  try {
    const auto types = definition.infer(InferContext(op, name, node->inputs_, node->attrs_));
    for (const TensorType& type : types) require_countable(op + " '" + name + "'", type);
    for (const TensorType& type : types) add_output(node, new_value(Value::Kind::kComputed, "", type));
  } catch (...) {
    nodes_.pop_back();
    --next_node_id_;
    throw;
  }
  return node;
}

Node* Graph::add_untyped(const std::string& op, std::vector<Value*> inputs, Attributes attrs, size_t num_outputs,
                         const std::string& name) {
  while (!inputs.empty() && inputs.back() == nullptr) inputs.pop_back();
  Node* node = append(find_op(op), std::move(inputs), std::move(attrs), name);
  for (size_t i = 0; i < num_outputs; ++i) add_output(node, new_untyped(Value::Kind::kComputed, ""));
  return node;
}

void Graph::mark_output(Value* value, const std::string& name) {
  TW_REQUIRE(value != nullptr && value->graph_ == this, "graph '", name_, "': an output must be a value of this graph");
  if (!name.empty()) value->name_ = name;
  outputs_.push_back(value);
}

void Graph::assign(Value* state, Value* value) {
  TW_REQUIRE(state->kind_ == Value::Kind::kState, "only a state can be assigned, '", state->name_, "' is none");
  TW_REQUIRE(!value->typed_ || state->type_ == value->type_, "state '", state->name_, "' of type ", state->type_,
             " cannot take a value of type ", value->type_);
  assignments_.emplace_back(state, value);
}

Value* Graph::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) return found->second;
  for (const auto& node : nodes_) {
    for (Value* output : node->outputs_) {
      if (output->name_ == name) return output;
    }
  }
  return nullptr;
}

std::vector<Node*> Graph::consumers(const Value* value) const {
  std::vector<Node*> readers;
  for (const auto& node : nodes_) {
    if (std::find(node->inputs_.begin(), node->inputs_.end(), value) != node->inputs_.end())
      readers.push_back(node.get());
  }
  return readers;
}

bool Graph::is_output(const Value* value) const {
  return std::find(outputs_.begin(), outputs_.end(), value) != outputs_.end();
}

void Graph::replace(Value* from, Value* to) {
  TW_REQUIRE(!from->typed_ || !to->typed_ || from->type_ == to->type_, "cannot replace '", from->name_, "' of type ",
             from->type_, " by '", to->name_, "' of type ", to->type_);
  for (auto& node : nodes_) std::replace(node->inputs_.begin(), node->inputs_.end(), from, to);
  std::replace(outputs_.begin(), outputs_.end(), from, to);
  for (auto& [state, value] : assignments_) {
    if (value == from) value = to;
  }
  for (Gradient& gradient : gradients_) {
    for (Value** slot : {&gradient.dense, &gradient.indices, &gradient.rows}) {
      if (*slot == from) *slot = to;
    }
  }
}

void Graph::replace_output(Value* from, Value* to) { std::replace(outputs_.begin(), outputs_.end(), from, to); }

void Graph::set_inputs(Node* node, std::vector<Value*> inputs) { node->inputs_ = std::move(inputs); }

void Graph::set_attribute(Node* node, const std::string& name, Attributes::Item value) {
  node->attrs_.set(name, std::move(value));
  if (!node->op_->infer) return;
  const std::string problem = attribute_problem(node->attrs_, node->op_->attributes);
  TW_REQUIRE(problem.empty(), describe(*node), ": ", problem);
}

void Graph::erase_attribute(Node* node, const std::string& name) { node->attrs_.erase(name); }

void Graph::infer_again(Node* node) {
  const auto types = node->op_->infer(InferContext(node->op_name(), node->name_, node->inputs_, node->attrs_));
  TW_REQUIRE(types.size() == node->outputs_.size(), describe(*node), ": the number of outputs changed");
  for (size_t i = 0; i < types.size(); ++i) {
    require_countable(describe(*node), types[i]);
    node->outputs_[i]->type_ = types[i];
  }
}

void Graph::sort_nodes() {
  std::vector<std::unique_ptr<Node>> sorted;
  std::unordered_set<const Node*> done;
  std::unordered_map<const Node*, size_t> place;
  for (size_t i = 0; i < nodes_.size(); ++i) place[nodes_[i].get()] = i;
  // Depth first along producers, with an explicit stack: models can be thousands of nodes deep.
  for (size_t start = 0; start < place.size(); ++start) {
    if (nodes_[start] == nullptr) continue;
    std::vector<const Node*> stack = {nodes_[start].get()};
    while (!stack.empty()) {
      const Node* node = stack.back();
      if (done.count(node) > 0) {
        stack.pop_back();
        continue;
      }
      const size_t depth = stack.size();
      for (const Value* input : node->inputs_) {
        if (input != nullptr && input->producer_ != nullptr && done.count(input->producer_) == 0) {
          stack.push_back(input->producer_);
        }
      }
      TW_REQUIRE(stack.size() <= 2 * place.size() + depth, "graph '", name_, "' has a cycle through ", describe(*node));
      if (stack.size() == depth) {
        done.insert(node);
        sorted.push_back(std::move(nodes_[place.at(node)]));
        stack.pop_back();
      }
    }
  }
  nodes_ = std::move(sorted);
}

int Graph::remove_dead_nodes() {
  std::unordered_set<const Value*> live(outputs_.begin(), outputs_.end());
  for (const auto& [state, value] : assignments_) live.insert(value);
  for (const Gradient& gradient : gradients_) {
    live.insert({gradient.dense, gradient.indices, gradient.rows});
  }
  std::vector<std::unique_ptr<Node>> kept;
  std::unordered_set<const Value*> dead;
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    const auto& outputs = (*node)->outputs_;
    if (std::any_of(outputs.begin(), outputs.end(), [&](const Value* v) { return live.count(v) > 0; })) {
      live.insert((*node)->inputs_.begin(), (*node)->inputs_.end());
      kept.push_back(std::move(*node));
    } else {
      dead.insert(outputs.begin(), outputs.end());
    }
  }
  const int removed = static_cast<int>(nodes_.size() - kept.size());
  std::reverse(kept.begin(), kept.end());
  nodes_ = std::move(kept);
  std::erase_if(constants_, [&](const Value* v) {
    if (live.count(v) > 0) return false;
    by_name_.erase(v->name_);
    dead.insert(v);
    return true;
  });
  std::erase_if(values_, [&](const std::shared_ptr<Value>& v) { return dead.count(v.get()) > 0; });
  return removed;
}

void Graph::move_tail_before(size_t first, const Node* anchor) {
  const auto position = std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& n) { return n.get() == anchor; });
  TW_REQUIRE(position != nodes_.end() && position <= nodes_.begin() + static_cast<std::ptrdiff_t>(first),
             "move_tail_before: the anchor is not before the tail");
  std::rotate(position, nodes_.begin() + static_cast<std::ptrdiff_t>(first), nodes_.end());
}

}  // namespace thalweg
