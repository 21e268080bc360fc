// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Elementwise functions that follow each other become one node, which reads and writes memory once.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "graph/op_registry.h"
#include "ops/binary.h"
#include "ops/elementwise_chain.h"
#include "ops/ids.h"
#include "ops/unary.h"
#include "passes/rewrite.h"
#include "thalweg/passes.h"

namespace thalweg {
namespace {

constexpr size_t kMostInputs = 8, kMostSteps = 32;
/// Elements that lie side by side of an operand which broadcasts: fewer are not worth a loop.
constexpr int64_t kShortestRun = 8;

/// True if the operand has an element for each channel of [N, C, ...], or for each place of the trailing dimensions, so
/// that it moves along with the result, or stays, for a while.
bool broadcasts_in_runs(const Shape& operand, const Shape& result) {
  if (operand == result || operand.num_elements() == 1 || result.num_elements() == 0) return true;
  int64_t run = 1;
  bool moves = false, stays = false;
  for (int d = result.rank() - 1; d >= 0; --d) {
    const int own = d - (result.rank() - operand.rank());
    const int64_t extent = own < 0 ? 1 : operand[own];
    if (result[d] == 1) continue;
    if (extent == 1 ? moves : stays) break;
    (extent == 1 ? stays : moves) = true;
    run *= result[d];
  }
  return run >= kShortestRun;
}

/// What each value is read by, which a graph would search for every time.
class Readers {
 public:
  explicit Readers(const Graph& graph) {
    for (const auto& node : graph.nodes()) {
      for (const Value* input : node->inputs()) {
        if (input != nullptr) readers_[input].push_back(node.get());
      }
    }
    for (const Value* output : graph.outputs()) leaves_.insert(output);
    for (const auto& [state, value] : graph.assignments()) leaves_.insert(value);
  }
  /// True if nobody but nodes of `group` reads the value.
  bool all_in(const Value* value, const std::unordered_set<const Node*>& group) const {
    const auto found = readers_.find(value);
    return leaves_.count(value) == 0 && found != readers_.end() &&
           std::all_of(found->second.begin(), found->second.end(), [&](const Node* n) { return group.count(n) > 0; });
  }

 private:
  std::unordered_map<const Value*, std::vector<const Node*>> readers_;
  std::unordered_set<const Value*> leaves_;
};

bool is_link(const Node& node) {
  const bool one = find_unary(node.op_name()) != nullptr, two = find_binary(node.op_name()) != nullptr;
  if ((!one && !two) || node.output()->dtype() != DType::kF32 || !node.output()->shape().is_static()) return false;
  return std::all_of(node.inputs().begin(), node.inputs().end(), [&](const Value* input) {
    return input->dtype() == DType::kF32 && broadcasts_in_runs(input->shape(), node.output()->shape());
  });
}

/// Nodes that end in `last` and can become one, in the order of the graph.
class Group {
 public:
  Group(const Readers& readers, Node* last) : readers_(readers), nodes_{last}, members_{last} {
    for (bool grown = true; grown && nodes_.size() < kMostSteps;) {
      grown = false;
      for (size_t i = 0; i < nodes_.size() && !grown; ++i) {
        for (Value* input : nodes_[i]->inputs()) grown = grown || take(input->producer());
      }
    }
  }

  /// In the order of the graph: a producer comes before its readers.
  std::vector<Node*> ordered(const Graph& graph) const {
    std::vector<Node*> result;
    for (const auto& node : graph.nodes()) {
      if (members_.count(node.get()) > 0) result.push_back(node.get());
    }
    return result;
  }
  size_t size() const { return nodes_.size(); }

  /// What the nodes read that none of them makes.
  std::vector<Value*> inputs() const {
    std::vector<Value*> result;
    for (const Node* node : nodes_) {
      for (Value* input : node->inputs()) {
        const bool own = input->producer() != nullptr && members_.count(input->producer()) > 0;
        if (!own && std::find(result.begin(), result.end(), input) == result.end()) result.push_back(input);
      }
    }
    return result;
  }

 private:
  bool take(Node* node) {
    if (node == nullptr || members_.count(node) > 0 || !is_link(*node)) return false;
    if (node->output()->shape() != nodes_[0]->output()->shape() || !readers_.all_in(node->output(), members_))
      return false;
    members_.insert(node);
    nodes_.push_back(node);
    if (inputs().size() <= kMostInputs) return true;
    members_.erase(node);
    nodes_.pop_back();
    return false;
  }

  const Readers& readers_;
  std::vector<Node*> nodes_;
  std::unordered_set<const Node*> members_;
};

void replace_by_chain(Graph& graph, const Group& group) {
  const std::vector<Value*> inputs = group.inputs();
  const std::vector<Node*> nodes = group.ordered(graph);
  std::unordered_map<const Value*, int> number;
  for (Value* input : inputs) number.emplace(input, static_cast<int>(number.size()));
  ChainSteps steps;
  for (const Node* node : nodes) {
    ChainStep step;
    step.function = node->op_name();
    step.left = number.at(node->input(0));
    if (node->inputs().size() > 1) {
      step.right = number.at(node->input(1));
    } else {
      const UnaryCallee callee = callee_of(*node);
      step.a = callee.a;
      step.b = callee.b;
    }
    steps.push_back(std::move(step));
    number.emplace(node->output(), static_cast<int>(number.size()));
  }
  const Node& last = *nodes.back();
  rewrite_at(graph, last,
             [&] { return graph.add(op::kElementwiseChain, inputs, chain_attributes(steps), last.name())->output(); });
}

}  // namespace

void fuse_elementwise(Graph& graph) {
  const std::vector<Node*> nodes = list_nodes(graph);
  const Readers readers(graph);
  std::unordered_set<const Node*> taken;
  // From the end, so that each group is as long as it can be.
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    if (taken.count(*node) > 0 || !is_link(**node)) continue;
    const Group group(readers, *node);
    if (group.size() < 2) continue;
    for (const Node* member : group.ordered(graph)) taken.insert(member);
    replace_by_chain(graph, group);
  }
  graph.remove_dead_nodes();
}

}  // namespace thalweg
