// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optimize/upgrade_operators.h"

#include <limits>
#include <string_view>
#include <unordered_map>

#include "passes/rewrite.h"

namespace thalweg {
namespace {

/// Operators that mean the same in all opsets from 7 to 13 (later ones only allow more), each between spaces.
constexpr std::string_view kUnchanged =
    " Abs Add And ArgMax ArgMin AveragePool Cast Ceil Concat Constant ConstantOfShape Conv ConvTranspose Cos"
    " CumSum DepthToSpace DequantizeLinear Div Elu Equal Erf Exp Expand Flatten Floor GRU Gather"
    " GatherElements GatherND Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool Greater HardSigmoid Identity"
    " InstanceNormalization IsInf IsNaN LRN LSTM LeakyRelu Less Log LpNormalization MatMul Max MaxPool Mean"
    " MeanVarianceNormalization Min Mul Neg NonMaxSuppression NonZero Not OneHot Or PRelu Pow QuantizeLinear"
    " RNN Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin"
    " ReduceProd ReduceSumSquare Relu Reshape Round ScatterElements ScatterND Selu Shape Sigmoid Sign Sin Size"
    " Softplus Softsign SpaceToDepth Sqrt Sub Sum Tan Tanh ThresholdedRelu Tile Transpose Where Xor ";

/// The inputs and attributes that a node is to have.
class NodeUpgrade {
 public:
  NodeUpgrade(EditedGraph& model, Node* node)
      : model_(model), node_(node), inputs_(node->inputs()), attrs_(node->attrs()) {}
  /// Makes the change.
  ~NodeUpgrade() {
    while (!inputs_.empty() && inputs_.back() == nullptr) inputs_.pop_back();
    model_.graph().set_inputs(node_, std::move(inputs_));
    for (const std::string& name : moved_) model_.graph().erase_attribute(node_, name);
  }
  NodeUpgrade(const NodeUpgrade&) = delete;
  NodeUpgrade& operator=(const NodeUpgrade&) = delete;

  /// An attribute of integers becomes the next input; nothing in its place if there is none.
  void move_integers(const std::string& name) {
    if (!attrs_.has(name)) {
      inputs_.push_back(nullptr);
      return;
    }
    const std::vector<int64_t> values = attrs_.integers(name);
    add_input(name, Tensor::from<int64_t>({static_cast<int64_t>(values.size())}, values));
  }
  void move_number(const std::string& name, float fallback) {
    add_input(name, Tensor::scalar<float>(static_cast<float>(attrs_.real(name, fallback))));
  }
  void remove(const std::string& name) { moved_.push_back(name); }

 private:
  void add_input(const std::string& name, const Tensor& content) {
    inputs_.push_back(model_.graph().constant(content));
    moved_.push_back(name);
  }

  EditedGraph& model_;
  Node* node_;
  std::vector<Value*> inputs_;
  const Attributes attrs_;
  std::vector<std::string> moved_;
};

/// Used to take all dimensions from the axis on as one.
void upgrade_softmax(EditedGraph& model, Node* node) {
  const int64_t axis = node->attrs().integer("axis", 1);
  if (axis == -1) return;
  Value* x = node->input(0);
  const std::string name = node->output()->name();
  const std::string op_type = node->op_name().substr(node->op_name().rfind('.') + 1);
  Value* shape = model.add("Shape", {x}, {}, name + "_shape");
  Value* rows = model.add("Flatten", {x}, {{"axis", axis}}, name + "_rows");
  Value* flat = model.add(op_type, {rows}, {{"axis", int64_t{-1}}}, name + "_flat");
  model.replace(node->output(), model.add("Reshape", {flat, shape}, {}, name));
}

/// What changed in a version. Empty: there are too many differences.
struct Change {
  int64_t since;
  void (*rewrite)(EditedGraph& model, Node* node);
};

const std::unordered_map<std::string_view, Change>& changes() {
  constexpr auto kMoveAxes = [](EditedGraph& model, Node* node) { NodeUpgrade(model, node).move_integers("axes"); };
  static const std::unordered_map<std::string_view, Change> table = {
      {"BatchNormalization", {9, [](EditedGraph& model, Node* node) { NodeUpgrade(model, node).remove("spatial"); }}},
      {"Clip",
       {11,
        [](EditedGraph& model, Node* node) {
          NodeUpgrade upgrade(model, node);
          upgrade.move_number("min", std::numeric_limits<float>::lowest());
          upgrade.move_number("max", std::numeric_limits<float>::max());
        }}},
      {"Dropout", {12, [](EditedGraph& model, Node* node) { NodeUpgrade(model, node).move_number("ratio", 0.5F); }}},
      {"Hardmax", {13, upgrade_softmax}},
      {"LogSoftmax", {13, upgrade_softmax}},
      {"Pad",
       {11,
        [](EditedGraph& model, Node* node) {
          NodeUpgrade upgrade(model, node);
          upgrade.move_integers("pads");
          upgrade.move_number("value", 0.0F);
        }}},
      {"ReduceSum", {13, kMoveAxes}},
      {"Resize", {11, nullptr}},
      {"Slice",
       {10,
        [](EditedGraph& model, Node* node) {
          NodeUpgrade upgrade(model, node);
          for (const char* name : {"starts", "ends", "axes"}) upgrade.move_integers(name);
        }}},
      {"Softmax", {13, upgrade_softmax}},
      {"Split", {13, [](EditedGraph& model, Node* node) { NodeUpgrade(model, node).move_integers("split"); }}},
      {"Squeeze", {13, kMoveAxes}},
      {"TopK", {11, nullptr}},
      {"Unsqueeze", {13, kMoveAxes}},
  };
  return table;
}

/// Null if the node can stay as it is; nothing if it cannot be rewritten.
std::optional<Change> change_of(const Node& node, int64_t from) {
  const std::string op_type = node.op_name().substr(node.op_name().rfind('.') + 1);
  if (!is_one_of(node, {op_type.c_str()})) return Change{0, nullptr};
  const auto changed = changes().find(op_type);
  if (changed == changes().end()) {
    if (kUnchanged.find(" " + op_type + " ") == std::string_view::npos) return std::nullopt;
    return Change{0, nullptr};
  }
  if (from >= changed->second.since) return Change{0, nullptr};
  // Statistics for each element of a channel are gone.
  const bool gone = changed->second.rewrite == nullptr || node.attrs().integer("spatial", 1) != 1;
  return gone ? std::nullopt : std::optional(changed->second);
}

}  // namespace

std::vector<std::string> upgrade_operators(EditedGraph& model) {
  if (model.opset() >= kOptimizedOpset) return {};
  std::vector<std::string> obstacles;
  const std::vector<Node*> nodes = list_nodes(model.graph());
  for (const Node* node : nodes) {
    // Before that operands were lined up as each node said.
    constexpr int64_t kOldest = 7;
    if (model.opset() < kOldest) {
      obstacles.push_back(label_of(*node));
      continue;
    }
    if (!change_of(*node, model.opset()).has_value()) obstacles.push_back(label_of(*node));
  }
  if (!obstacles.empty()) return obstacles;
  for (Node* node : nodes) {
    const Change change = *change_of(*node, model.opset());
    if (change.rewrite != nullptr) change.rewrite(model, node);
  }
  model.set_opset(kOptimizedOpset);
  model.tidy();
  return {};
}

}  // namespace thalweg
