// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <numeric>

#include "graph/op_registry.h"
#include "ops/ids.h"
#include "ops/ids_rare.h"
#include "ops/prior_boxes.h"
#include "thalweg/passes.h"

namespace thalweg {
namespace {

bool is_constant_scalar(const Value* value, double wanted) {
  return value->kind() == Value::Kind::kConstant && value->data().num_elements() == 1 && value->data().item() == wanted;
}

bool is_identity_permutation(const Node& node) {
  const auto permutation = node.attrs().integers("permutation");
  std::vector<int64_t> identity(permutation.size());
  std::iota(identity.begin(), identity.end(), int64_t{0});
  return !permutation.empty() && permutation == identity;
}

/// The input that the node only passes on; null if it does something.
Value* passed_on(const Node& node) {
  if (node.inputs().empty() || node.input(0) == nullptr || node.outputs().size() != 1) return nullptr;
  if (node.input(0)->type() != node.output()->type()) return nullptr;
  Value* first = node.input(0);
  if (node.op().has(Trait::kSameIfSameType)) return first;
  const std::string& op = node.op_name();
  if (op == op::kTranspose && is_identity_permutation(node)) return first;
  if ((op == op::kAdd || op == op::kSub) && is_constant_scalar(node.input(1), 0.0)) return first;
  if ((op == op::kMul || op == op::kDiv) && is_constant_scalar(node.input(1), 1.0)) return first;
  return nullptr;
}

/// Counts of elements are known once the graph is static.
Value* counted(Graph& graph, const Node& node) {
  if (node.op_name() != op::kElementCount || !node.input(0)->shape().is_static()) return nullptr;
  const std::vector<int64_t> axes = node.attrs().integers("axes");
  int64_t count = axes.empty() ? node.input(0)->shape().num_elements() : 1;
  for (int64_t axis : axes) count *= node.input(0)->shape()[static_cast<int>(axis)];
  return graph.constant(Tensor::scalar<float>(static_cast<float>(count)));
}

/// So are boxes that depend on extents alone.
Value* priors(Graph& graph, const Node& node) {
  if (node.op_name() != op::kPriorBox || !node.output()->shape().is_static()) return nullptr;
  const Tensor boxes = prior_boxes(node);
  return boxes.defined() ? graph.constant(boxes.to(node.output()->dtype())) : nullptr;
}

bool holds_objects(const Attributes& attrs) {
  return std::any_of(attrs.items().begin(), attrs.items().end(), [](const auto& item) {
    return std::holds_alternative<Tensor>(item.second) || std::holds_alternative<std::shared_ptr<Graph>>(item.second);
  });
}

/// Two nodes with equal keys compute the same.
std::string key_of(const Node& node) {
  std::ostringstream key;
  key << node.op_name();
  for (const Value* input : node.inputs()) key << ' ' << (input != nullptr ? input->id() : -1);
  key << ' ' << node.attrs().to_string();
  return key.str();
}

/// Constants of one element with equal content count as equal, so that nodes that read them can merge. Equal are equal
/// bytes: NaN compares with nothing, and -0 with 0, but they compute something else.
void merge_scalar_constants(Graph& graph) {
  std::map<std::pair<std::string, std::string>, Value*> seen;
  const std::vector<Value*> constants = graph.constants();
  for (Value* value : constants) {
    if (value->data().num_elements() != 1 || graph.is_output(value)) continue;
    std::ostringstream type;
    type << value->type();
    std::string content(static_cast<const char*>(value->data().raw()), value->data().num_bytes());
    const auto [entry, fresh] = seen.emplace(std::pair(type.str(), std::move(content)), value);
    if (!fresh) graph.replace(value, entry->second);
  }
}

}  // namespace

void simplify(Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (Value* count = counted(graph, *node); count != nullptr) graph.replace(node->output(), count);
    if (Value* boxes = priors(graph, *node); boxes != nullptr) graph.replace(node->output(), boxes);
  }
  merge_scalar_constants(graph);
  std::map<std::string, Node*> seen;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    Node& node = *graph.nodes()[i];
    if (Value* input = passed_on(node); input != nullptr && !graph.is_output(node.output())) {
      graph.replace(node.output(), input);
      continue;
    }
    if (node.op().impure || holds_objects(node.attrs())) continue;
    const auto [entry, fresh] = seen.emplace(key_of(node), &node);
    if (fresh) continue;
    for (size_t o = 0; o < node.outputs().size(); ++o) graph.replace(node.output(o), entry->second->output(o));
  }
  graph.remove_dead_nodes();
}

}  // namespace thalweg
