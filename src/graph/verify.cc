// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ostream>
#include <sstream>
#include <unordered_set>

#include "graph/op_registry.h"
#include "thalweg/graph.h"

namespace thalweg {
namespace {

/// The types of a node's outputs are those that its rule gives, where everything that the rule asks for is typed.
void verify_types(const Node& node) {
  const auto typed = [](const Value* value) { return value == nullptr || value->typed(); };
  if (!node.op().infer || !std::all_of(node.inputs().begin(), node.inputs().end(), typed) ||
      !std::all_of(node.outputs().begin(), node.outputs().end(), typed)) {
    return;
  }
  const auto types = node.op().infer(InferContext(node.op_name(), node.name(), node.inputs(), node.attrs()));
  TW_REQUIRE(types.size() == node.outputs().size(), describe(node), ": has ", node.outputs().size(),
             " outputs, its rule gives ", types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    TW_REQUIRE(node.output(i)->type() == types[i], describe(node), ": output ", i, " is ", node.output(i)->type(),
               ", its rule gives ", types[i]);
  }
}

void print_type(std::ostream& out, const Value& value) {
  if (value.typed()) {
    out << value.type();
  } else {
    out << "?";
  }
}

}  // namespace

void Graph::verify() const {
  std::unordered_set<const Value*> defined;
  for (const auto* group : {&inputs_, &parameters_, &states_, &constants_})
    defined.insert(group->begin(), group->end());
  for (const auto& node : nodes_) {
    for (const Value* input : node->inputs_) {
      TW_REQUIRE(input == nullptr || defined.count(input) > 0, describe(*node), ": reads '", input->name_,
                 "' before it is computed");
    }
    for (size_t i = 0; i < node->outputs_.size(); ++i) {
      const Value* output = node->outputs_[i];
      TW_REQUIRE(output->producer_ == node.get() && defined.insert(output).second, describe(*node), ": output ", i,
                 " has two producers");
    }
    verify_types(*node);
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
    for (const Value* value : values) {
      text << "  " << what << ' ' << value->name_ << ": ";
      print_type(text, *value);
      text << "\n";
    }
  };
  list("input", inputs_);
  list("parameter", parameters_);
  list("state", states_);
  list("constant", constants_);
  for (const auto& node : nodes_) {
    text << "  ";
    for (size_t i = 0; i < node->outputs_.size(); ++i) {
      text << (i > 0 ? ", " : "") << node->outputs_[i]->name_ << ": ";
      print_type(text, *node->outputs_[i]);
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
