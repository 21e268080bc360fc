// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/upgrade.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "formats/onnx/converter.h"
#include "passes/rewrite.h"

namespace thalweg::onnx {
namespace {

/// The inputs and attributes that a node is to have.
class NodeUpgrade {
 public:
  NodeUpgrade(Graph& graph, Node* node) : graph_(graph), node_(node), inputs_(node->inputs()) {}
  /// Makes the change.
  ~NodeUpgrade() {
    while (!inputs_.empty() && inputs_.back() == nullptr) inputs_.pop_back();
    graph_.set_inputs(node_, std::move(inputs_));
    for (const std::string& name : moved_) graph_.erase_attribute(node_, name);
  }
  NodeUpgrade(const NodeUpgrade&) = delete;
  NodeUpgrade& operator=(const NodeUpgrade&) = delete;

  /// An attribute of integers becomes the next input; nothing in its place if there is none.
  void move_integers(const std::string& name) {
    if (!node_->attrs().has(name)) {
      inputs_.push_back(nullptr);
      return;
    }
    const std::vector<int64_t> values = node_->attrs().integers(name);
    add_input(name, Tensor::from<int64_t>({static_cast<int64_t>(values.size())}, values));
  }
  void move_number(const std::string& name, float fallback) {
    add_input(name, Tensor::scalar<float>(static_cast<float>(node_->attrs().real(name, fallback))));
  }
  void remove(const std::string& name) { moved_.push_back(name); }

 private:
  void add_input(const std::string& name, const Tensor& content) {
    inputs_.push_back(graph_.constant(content));
    moved_.push_back(name);
  }

  Graph& graph_;
  Node* node_;
  std::vector<Value*> inputs_;
  std::vector<std::string> moved_;
};

/// Used to take all dimensions from the axis on as one.
void upgrade_softmax(Graph& graph, Node* node) {
  const int64_t axis = node->attrs().integer("axis", 1);
  if (axis == -1) return;
  Value* x = node->input(0);
  const std::string name = node->output()->name();
  const auto add = [&](const std::string& op, std::vector<Value*> inputs, Attributes attrs, const std::string& called) {
    return graph.add_untyped(op, std::move(inputs), std::move(attrs), 1, called)->output();
  };
  Value* shape = add(op_name_of("", "Shape"), {x}, {}, name + "_shape");
  Value* rows = add(op_name_of("", "Flatten"), {x}, {{"axis", axis}}, name + "_rows");
  Value* flat = add(node->op_name(), {rows}, {{"axis", int64_t{-1}}}, name + "_flat");
  Value* result = add(op_name_of("", "Reshape"), {flat, shape}, {}, name);
  result->set_name(name);
  if (node->output()->typed()) result->declare(node->output()->type());
  graph.replace(node->output(), result);
}

/// What changed in a version. Without a function: it cannot be rewritten.
struct Change {
  int64_t since;
  void (*rewrite)(Graph& graph, Node* node);
};

/// All operators whose inputs, attributes or meaning changed after opset 7 and up to 13. In the versions of others
/// between the two, more element types came, attributes with defaults that mean what was meant before, and negative
/// axes.
const std::unordered_map<std::string, Change>& changes() {
  constexpr auto kMoveAxes = [](Graph& graph, Node* node) { NodeUpgrade(graph, node).move_integers("axes"); };
  static const std::unordered_map<std::string, Change> table = {
      {"BatchNormalization", {9, [](Graph& graph, Node* node) { NodeUpgrade(graph, node).remove("spatial"); }}},
      {"Clip",
       {11,
        [](Graph& graph, Node* node) {
          NodeUpgrade upgrade(graph, node);
          upgrade.move_number("min", std::numeric_limits<float>::lowest());
          upgrade.move_number("max", std::numeric_limits<float>::max());
        }}},
      {"Dropout", {12, [](Graph& graph, Node* node) { NodeUpgrade(graph, node).move_number("ratio", 0.5F); }}},
      {"Hardmax", {13, upgrade_softmax}},
      {"LogSoftmax", {13, upgrade_softmax}},
      {"Pad",
       {11,
        [](Graph& graph, Node* node) {
          NodeUpgrade upgrade(graph, node);
          upgrade.move_integers("pads");
          upgrade.move_number("value", 0.0F);
        }}},
      {"ReduceSum", {13, kMoveAxes}},
      {"Resize", {11, nullptr}},
      {"Scatter", {11, nullptr}},
      {"Slice",
       {10,
        [](Graph& graph, Node* node) {
          NodeUpgrade upgrade(graph, node);
          for (const char* name : {"starts", "ends", "axes"}) upgrade.move_integers(name);
        }}},
      {"Softmax", {13, upgrade_softmax}},
      {"Split", {13, [](Graph& graph, Node* node) { NodeUpgrade(graph, node).move_integers("split"); }}},
      {"Squeeze", {13, kMoveAxes}},
      {"TopK", {10, nullptr}},
      {"Unsqueeze", {13, kMoveAxes}},
      {"Upsample", {10, nullptr}},
  };
  return table;
}

bool is_standard(const Node& node) { return node.op_name() == op_name_of("", name_in_files(node.op())); }

/// The change that a node needs; null if it can stay as it is.
const Change* change_of(const Node& node, int64_t from) {
  const auto found = is_standard(node) ? changes().find(name_in_files(node.op())) : changes().end();
  return found != changes().end() && from < found->second.since ? &found->second : nullptr;
}

bool can_be_upgraded(const Node& node, int64_t from) {
  // Before it, operands were lined up as each node said.
  constexpr int64_t kOldest = 7;
  if (from < kOldest) return false;
  const auto& items = node.attrs().items();
  const bool holds_graph = std::any_of(items.begin(), items.end(), [](const auto& item) {
    return std::holds_alternative<std::shared_ptr<Graph>>(item.second);
  });
  const Change* change = change_of(node, from);
  // Of batch norms: statistics for each element of a channel are gone.
  return !holds_graph && (change == nullptr || (change->rewrite && node.attrs().integer("spatial", 1) == 1));
}

}  // namespace

std::vector<std::string> upgrade(Graph& graph, int64_t from) {
  if (from >= kUpgradedOpset) return {};
  std::vector<std::string> obstacles;
  const std::vector<Node*> nodes = list_nodes(graph);
  for (const Node* node : nodes) {
    if (!can_be_upgraded(*node, from)) obstacles.push_back(describe(*node));
  }
  if (!obstacles.empty()) return obstacles;
  for (Node* node : nodes) {
    if (const Change* change = change_of(*node, from)) change->rewrite(graph, node);
  }
  for (const auto& node : graph.nodes()) {
    if (is_standard(*node)) graph.set_attribute(node.get(), ComposeContext::kOpsetAttribute, kUpgradedOpset);
  }
  graph.sort_nodes();
  graph.remove_dead_nodes();
  return {};
}

}  // namespace thalweg::onnx
