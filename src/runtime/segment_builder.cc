// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/segment_builder.h"

#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "graph/op_registry.h"
#include "ops/control_flow.h"
#include "thalweg/stored_types.h"

namespace thalweg {

SegmentBuilder::SegmentBuilder(const Graph& graph, const std::string& name, const Variables& variables,
                               const std::vector<Tensor>& contents, const std::vector<bool>& done)
    : graph_(graph),
      name_(name),
      variables_(variables),
      contents_(contents),
      plan_{std::make_unique<Graph>(graph.name()), {}, {}, {}, {}, {}, done},
      specializer_(*plan_.graph, *this),
      for_host_(done.size(), false) {
  // Batch norms name their running statistics, which therefore have to be there.
  for (const Value* state : graph.states()) specializer_.find(state);
}

bool SegmentBuilder::at_hand(const Value* value) const {
  // Numbers of values of graphs inside of nodes are others.
  if (&value->graph() != &graph_) return false;
  const auto index = static_cast<size_t>(value->id());
  return index < contents_.size() && contents_[index].defined();
}

bool SegmentBuilder::is_object(const Value* value) const {
  if (value->kind() == Value::Kind::kConstant) return stored::is_object(value->data().dtype());
  return at_hand(value) && stored::is_object(contents_[static_cast<size_t>(value->id())].dtype());
}

Value* SegmentBuilder::define(const Value* original, Graph& target) {
  if (is_object(original)) return nullptr;  // no program holds it
  switch (original->kind()) {
    case Value::Kind::kConstant: return target.constant(original->data());
    case Value::Kind::kParameter: {
      // Graphs inside of nodes read weights of the model too, by values of their own.
      Value*& held = weights_[original->name()];
      if (held == nullptr) held = target.held_parameter(original->name(), original->type());
      return held;
    }
    case Value::Kind::kState: return target.held_state(original->name(), original->type());
    default: break;
  }
  if (!at_hand(original)) return nullptr;
  plan_.inputs.push_back(original);
  // Names of computed values need not be unique.
  const std::string name = original->kind() == Value::Kind::kInput
                               ? original->name()
                               : original->name() + " #" + std::to_string(original->id());
  return target.input(name, contents_[static_cast<size_t>(original->id())].type());
}

Tensor SegmentBuilder::content(const Value* original) {
  if (original->kind() == Value::Kind::kParameter || original->kind() == Value::Kind::kState) {
    return variables_.read(variables_.index(original->name()));
  }
  if (!at_hand(original)) return {};
  if (std::find(plan_.contents.begin(), plan_.contents.end(), original) == plan_.contents.end()) {
    plan_.contents.push_back(original);
  }
  return contents_[static_cast<size_t>(original->id())];
}

SegmentPlan SegmentBuilder::build() {
  convert_nodes();
  choose_host_nodes();
  choose_outputs();
  if (plan_.outputs.empty()) {
    plan_.graph = nullptr;
  } else {
    plan_.graph->remove_dead_nodes();
  }
  return std::move(plan_);
}

void SegmentBuilder::convert_nodes() {
  using Outcome = Specializer::Outcome;
  std::vector<std::string> unsupported;
  for (size_t i = 0; i < graph_.nodes().size(); ++i) {
    if (plan_.done[i]) continue;
    const Node& node = *graph_.nodes()[i];
    const bool takes_object = std::any_of(node.inputs().begin(), node.inputs().end(),
                                          [&](const Value* value) { return value != nullptr && is_object(value); });
    if (node.op().host && (takes_object || (!node.op().compose && !is_choice(node)))) {
      for_host_[i] = true;
      continue;
    }
    if (takes_object) {
      unsupported.push_back(describe(node) + ": takes numbers, not texts, sequences or nothing");
      continue;
    }
    std::string problem;
    const Outcome outcome = specializer_.convert(node, problem);
    plan_.done[i] = outcome == Outcome::kConverted;
    if (outcome != Outcome::kUnsupported) continue;
    for_host_[i] = true;
    // Shape rules name the node themselves.
    if (!node.op().host) unsupported.push_back(node.op().infer ? problem : describe(node) + ": " + problem);
  }
  TW_REQUIRE(unsupported.empty(), name_, ": ", unsupported.size(), unsupported.size() == 1 ? " node is" : " nodes are",
             " not supported:\n  ", join(unsupported, "\n  "));
}

void SegmentBuilder::choose_host_nodes() {
  for (size_t i = 0; i < graph_.nodes().size(); ++i) {
    const std::vector<Value*>& inputs = graph_.nodes()[i]->inputs();
    const bool ready = std::all_of(inputs.begin(), inputs.end(), [&](const Value* value) {
      return value == nullptr || is_object(value) || specializer_.find(value) != nullptr;
    });
    if (for_host_[i] && ready) plan_.host_nodes.push_back(i);
  }
}

void SegmentBuilder::choose_outputs() {
  std::unordered_set<const Value*> seen;
  const auto need = [&](const Value* original) {
    if (original == nullptr || original->kind() != Value::Kind::kComputed) return;
    if (at_hand(original) || !seen.insert(original).second) return;
    Value* value = specializer_.find(original);
    if (value == nullptr) return;
    if (value->kind() == Value::Kind::kConstant) {
      plan_.known.emplace_back(original, value->data());
    } else {
      plan_.graph->mark_output(value);
      plan_.outputs.push_back(original);
    }
  };
  for (size_t i = 0; i < graph_.nodes().size(); ++i) {
    if (plan_.done[i]) continue;
    for (const Value* input : graph_.nodes()[i]->inputs()) need(input);
  }
  for (const Value* output : graph_.outputs()) need(output);
  // Nobody asks for a segment unless a result is missing: one that makes nothing new would be asked for again forever.
  TW_REQUIRE(!plan_.outputs.empty() || !plan_.known.empty() || !plan_.host_nodes.empty(), name_,
             ": an output of the graph is made by no node");
  for (const size_t node : plan_.host_nodes) plan_.done[node] = true;
}

}  // namespace thalweg
