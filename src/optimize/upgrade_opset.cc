// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optimize/upgrade_opset.h"

#include <limits>
#include <string_view>
#include <unordered_map>

#include "formats/onnx/import_graph.h"

namespace thalweg {
namespace {

using onnx::AttributeProto;
using onnx::NodeProto;

/// The IR version that belongs to kOptimizedOpset.
constexpr int64_t kIrVersion = 7;

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

class Upgrade {
 public:
  explicit Upgrade(ModelEditor& model) : model_(model), from_(model.opset()) {}

  /// Appends what takes the place of `node`; false if nothing can.
  bool convert(NodeProto node, std::vector<NodeProto>& into) {
    if (onnx::normal_domain(node.domain).empty()) {
      const auto changed = kChanged.find(node.op_type);
      if (changed != kChanged.end()) {
        if (from_ < changed->second.since) return (this->*changed->second.rewrite)(node, into);
      } else if (kUnchanged.find(" " + node.op_type + " ") == std::string_view::npos) {
        return false;
      }
    }
    into.push_back(std::move(node));
    return true;
  }

 private:
  using Rewrite = bool (Upgrade::*)(NodeProto& node, std::vector<NodeProto>& into);
  struct Change {
    int64_t since;
    Rewrite rewrite;
  };
  static const std::unordered_map<std::string, Change> kChanged;

  /// Makes an attribute of integers the next input; nothing in its place if there is none.
  void move_integers(NodeProto& node, const char* name) {
    const AttributeProto* attribute = find_attribute(node, name);
    if (attribute == nullptr) {
      node.input.emplace_back();
      return;
    }
    const auto count = static_cast<int64_t>(attribute->ints.size());
    node.input.push_back(
        model_.add_initializer(node.output[0] + "_" + name, Tensor::from<int64_t>({count}, attribute->ints)));
    remove_attribute(node, name);
  }

  void move_number(NodeProto& node, const char* name, float fallback) {
    const float value = float_attribute(node, name, fallback);
    node.input.push_back(model_.add_initializer(node.output[0] + "_" + name, Tensor::scalar<float>(value)));
    remove_attribute(node, name);
  }

  bool keep(NodeProto& node, std::vector<NodeProto>& into) {
    while (!node.input.empty() && node.input.back().empty()) node.input.pop_back();
    into.push_back(std::move(node));
    return true;
  }

  bool move_axes(NodeProto& node, std::vector<NodeProto>& into) {
    move_integers(node, "axes");
    return keep(node, into);
  }

  bool split(NodeProto& node, std::vector<NodeProto>& into) {
    move_integers(node, "split");
    return keep(node, into);
  }

  bool slice(NodeProto& node, std::vector<NodeProto>& into) {
    for (const char* name : {"starts", "ends", "axes"}) move_integers(node, name);
    return keep(node, into);
  }

  bool pad(NodeProto& node, std::vector<NodeProto>& into) {
    move_integers(node, "pads");
    move_number(node, "value", 0.0F);
    return keep(node, into);
  }

  bool clip(NodeProto& node, std::vector<NodeProto>& into) {
    move_number(node, "min", std::numeric_limits<float>::lowest());
    move_number(node, "max", std::numeric_limits<float>::max());
    return keep(node, into);
  }

  /// In a run for inference the ratio does not matter.
  bool dropout(NodeProto& node, std::vector<NodeProto>& into) {
    remove_attribute(node, "ratio");
    return keep(node, into);
  }

  /// Statistics for each element of a channel are gone.
  bool batch_norm(NodeProto& node, std::vector<NodeProto>& into) {
    if (integer_attribute(node, "spatial", 1) != 1) return false;
    remove_attribute(node, "spatial");
    return keep(node, into);
  }

  /// There are too many differences.
  bool refuse(NodeProto& /*node*/, std::vector<NodeProto>& /*into*/) { return false; }

  /// Used to take all dimensions from the axis on as one.
  bool softmax(NodeProto& node, std::vector<NodeProto>& into) {
    const int64_t axis = integer_attribute(node, "axis", 1);
    if (axis == -1) return keep(node, into);
    const std::string shape = model_.new_name(node.output[0] + "_shape");
    const std::string rows = model_.new_name(node.output[0] + "_rows");
    const std::string result = model_.new_name(node.output[0] + "_flat");
    into.push_back(make_node("Shape", {node.input[0]}, shape));
    into.push_back(make_node("Flatten", {node.input[0]}, rows));
    set_integer_attribute(into.back(), "axis", axis);
    into.push_back(make_node(node.op_type, {rows}, result));
    set_integer_attribute(into.back(), "axis", -1);
    into.push_back(make_node("Reshape", {result, shape}, node.output[0]));
    return true;
  }

  ModelEditor& model_;
  int64_t from_;
};

const std::unordered_map<std::string, Upgrade::Change> Upgrade::kChanged = {
    {"BatchNormalization", {9, &Upgrade::batch_norm}},
    {"Clip", {11, &Upgrade::clip}},
    {"Dropout", {12, &Upgrade::dropout}},
    {"Hardmax", {13, &Upgrade::softmax}},
    {"LogSoftmax", {13, &Upgrade::softmax}},
    {"Pad", {11, &Upgrade::pad}},
    {"ReduceSum", {13, &Upgrade::move_axes}},
    {"Resize", {11, &Upgrade::refuse}},
    {"Slice", {10, &Upgrade::slice}},
    {"Softmax", {13, &Upgrade::softmax}},
    {"Split", {13, &Upgrade::split}},
    {"Squeeze", {13, &Upgrade::move_axes}},
    {"TopK", {11, &Upgrade::refuse}},
    {"Unsqueeze", {13, &Upgrade::move_axes}},
};

}  // namespace

std::vector<std::string> upgrade_opset(ModelEditor& model) {
  if (model.opset() >= kOptimizedOpset) return {};
  ModelEditor upgraded = model;
  Upgrade upgrade(upgraded);
  std::vector<NodeProto> nodes;
  std::vector<std::string> obstacles;
  for (const NodeProto& node : model.graph().node) {
    if (!upgrade.convert(node, nodes)) obstacles.push_back(onnx::describe(node));
  }
  if (!obstacles.empty()) return obstacles;
  upgraded.graph().node = std::move(nodes);
  upgraded.set_opset(kOptimizedOpset, kIrVersion);
  model = std::move(upgraded);
  return {};
}

}  // namespace thalweg
