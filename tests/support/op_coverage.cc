// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "support/op_coverage.h"

#include <unordered_set>

#include "graph/op_registry.h"

namespace thalweg::testing {
namespace {

bool is_fast(const KernelCandidate& candidate) { return candidate.name != "reference" && candidate.name != "view"; }

}  // namespace

OpCoverage& OpCoverage::instance() {
  static OpCoverage coverage;
  return coverage;
}

void OpCoverage::differentiated(const Graph& graph, size_t num_nodes, const std::vector<Value*>& operands) {
  std::unordered_set<const Value*> reached(operands.begin(), operands.end());
  for (size_t i = 0; i < num_nodes; ++i) {
    const Node* node = graph.nodes()[i].get();
    for (const Value* input : node->inputs()) {
      if (input == nullptr || reached.count(input) == 0) continue;
      differentiated_.insert(node->op_name());
      reached.insert(node->outputs().begin(), node->outputs().end());
    }
  }
}

void OpCoverage::compared(const Program& program) {
  for (const auto* steps : {&program.steps(), &program.prologue()}) {
    for (const Step& step : *steps) {
      if (step.node == nullptr) continue;
      // Those before it in the list declined.
      compared(*step.node, kernel_candidates(step.node->op_name())[step.declined.size()].name);
    }
  }
}

void OpCoverage::compared(const Node& node, const std::string& candidate) {
  candidates_[node.op_name()].insert(candidate);
  Shapes& seen = shapes_[node.op_name()];
  for (const Value* input : node.inputs()) {
    if (input == nullptr) continue;
    for (const int64_t size : input->shape().dims()) {
      seen.empty |= size == 0;
      if (candidate == "reference") continue;
      seen.one |= size == 1;
      seen.odd |= size > 1 && size % 2 == 1;
    }
  }
}

std::vector<std::string> OpCoverage::missing_gradients() const {
  std::vector<std::string> missing;
  for (const std::string& op : op_names()) {
    if (find_op(op).gradient != nullptr && differentiated_.count(op) == 0) missing.push_back(op);
  }
  return missing;
}

std::vector<std::string> OpCoverage::missing_comparisons() const {
  std::vector<std::string> missing;
  for (const std::string& op : op_names()) {
    bool any_fast = false;
    const auto compared = candidates_.find(op);
    for (const KernelCandidate& candidate : kernel_candidates(op)) {
      if (!is_fast(candidate)) continue;
      any_fast = true;
      if (compared == candidates_.end() || compared->second.count(candidate.name) == 0)
        missing.push_back(op + ": kernel " + candidate.name);
    }
    if (!any_fast || find_op(op).max_inputs == 0) continue;
    const auto found = shapes_.find(op);
    const Shapes seen = found != shapes_.end() ? found->second : Shapes();
    if (!seen.one) missing.push_back(op + ": a size of 1");
    if (!seen.odd) missing.push_back(op + ": an odd size");
    if (!seen.empty) missing.push_back(op + ": an empty operand");
  }
  return missing;
}

}  // namespace thalweg::testing
