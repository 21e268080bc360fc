// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <unordered_set>

#include "graph/op_registry.h"
#include "thalweg/graph.h"

namespace thalweg {

void Graph::verify() const {
  std::unordered_set<const Value*> defined;
  for (const auto* group : {&inputs_, &parameters_, &states_, &constants_})
    defined.insert(group->begin(), group->end());
  for (const auto& node : nodes_) {
    for (const Value* input : node->inputs_) {
      TW_REQUIRE(input == nullptr || defined.count(input) > 0, describe(*node), ": reads '", input->name_,
                 "' before it is computed");
    }
    const auto types = node->op_->infer(InferContext(node->op_name(), node->name_, node->inputs_, node->attrs_));
    TW_REQUIRE(types.size() == node->outputs_.size(), describe(*node), ": has ", node->outputs_.size(),
               " outputs, its rule gives ", types.size());
    for (size_t i = 0; i < types.size(); ++i) {
      const Value* output = node->outputs_[i];
      TW_REQUIRE(output->type_ == types[i], describe(*node), ": output ", i, " is ", output->type_, ", its rule gives ",
                 types[i]);
      TW_REQUIRE(output->producer_ == node.get() && defined.insert(output).second, describe(*node), ": output ", i,
                 " has two producers");
    }
  }
  for (const Value* output : outputs_) {
    TW_REQUIRE(defined.count(output) > 0, "output '", output->name_, "' is never computed");
  }
  for (const auto& [state, value] : assignments_) {
    TW_REQUIRE(defined.count(value) > 0, "state '", state->name_, "' takes a value that is never computed");
  }
}

std::string Graph::to_string() const {
  std::ostringstream text;
  text << "graph " << name_ << "\n";
  const auto list = [&](const char* what, const std::vector<Value*>& values) {
    for (const Value* value : values) text << "  " << what << ' ' << value->name_ << ": " << value->type_ << "\n";
  };
  list("input", inputs_);
  list("parameter", parameters_);
  list("state", states_);
  list("constant", constants_);
  for (const auto& node : nodes_) {
    text << "  ";
    for (size_t i = 0; i < node->outputs_.size(); ++i) {
      text << (i > 0 ? ", " : "") << node->outputs_[i]->name_ << ": " << node->outputs_[i]->type_;
    }
    text << " = " << node->op_name() << '(';
    for (size_t i = 0; i < node->inputs_.size(); ++i) {
      text << (i > 0 ? ", " : "") << (node->inputs_[i] != nullptr ? node->inputs_[i]->name_ : "-");
    }
    text << ')' << node->attrs_.to_string() << "\n";
  }
  list("output", outputs_);
  for (const auto& [state, value] : assignments_) text << "  assign " << state->name_ << " = " << value->name_ << "\n";
  for (const Gradient& g : gradients_) {
    text << "  gradient " << g.parameter->name_ << " = "
         << (g.is_sparse() ? g.rows->name_ + " at " + g.indices->name_ : g.dense->name_) << "\n";
  }
  return text.str();
}

}  // namespace thalweg
