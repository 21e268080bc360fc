// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Products, attention and normalisations.
#include <cmath>
#include <limits>

#include "formats/onnx/exporter.h"
#include "ops/ids.h"

namespace thalweg::onnx {
namespace {

std::string transposed(Exporter& exporter, const std::string& x, const std::vector<int64_t>& order) {
  return exporter.emit("Transpose", {x}, {integers_attribute("perm", order)});
}

/// The last two dimensions swapped.
std::string matrix_transposed(Exporter& exporter, const Value* x) {
  std::vector<int64_t> order;
  for (int64_t d = 0; d < x->shape().rank(); ++d) order.push_back(d);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return transposed(exporter, exporter.name(x), order);
}

void write_matmul(Exporter& exporter, const Node& node) {
  const bool left = node.attrs().flag("transpose_a"), right = node.attrs().flag("transpose_b");
  exporter.emit(node.output(), "MatMul",
                {left ? matrix_transposed(exporter, node.input(0)) : exporter.name(node.input(0)),
                 right ? matrix_transposed(exporter, node.input(1)) : exporter.name(node.input(1))});
}

void write_linear(Exporter& exporter, const Node& node) {
  TW_REQUIRE(node.attrs().text("activation").empty(), "a fused product");
  const std::string x = exporter.name(node.input(0)), bias = exporter.name(node.input(2));
  if (node.input(0)->shape().rank() == 2) {
    return exporter.emit(node.output(), "Gemm", {x, exporter.name(node.input(1)), bias},
                         {integer_attribute("transB", 1)});
  }
  const std::string weight = matrix_transposed(exporter, node.input(1));
  if (bias.empty()) return exporter.emit(node.output(), "MatMul", {x, weight});
  exporter.emit(node.output(), "Add", {exporter.emit("MatMul", {x, weight}), bias});
}

struct Heads {
  std::string q, k, v;  // [B, H, T, D]
};

/// Whichever layout the op has.
Heads by_head(Exporter& exporter, const Node& node, const std::string& layout, int64_t features) {
  const std::vector<int64_t> swap = {0, 2, 1, 3};
  if (layout == "packed") {
    const int64_t heads = node.attrs().integer("heads");
    const std::string parts =
        exporter.emit("Reshape", {exporter.name(node.input(0)), exporter.integers({0, 0, 3, heads, features})});
    const std::vector<std::string> each =
        exporter.emit_many("Split", {transposed(exporter, parts, {2, 0, 3, 1, 4}), exporter.integers({1, 1, 1})}, 3,
                           {integer_attribute("axis", 0)});
    const auto squeezed = [&](const std::string& x) { return exporter.emit("Squeeze", {x, exporter.integers({0})}); };
    return {squeezed(each[0]), squeezed(each[1]), squeezed(each[2])};
  }
  Heads heads{exporter.name(node.input(0)), exporter.name(node.input(1)), exporter.name(node.input(2))};
  if (layout == "bhtd") return heads;
  return {transposed(exporter, heads.q, swap), transposed(exporter, heads.k, swap),
          transposed(exporter, heads.v, swap)};
}

std::string causal_mask(Exporter& exporter, int64_t queries, int64_t keys) {
  TW_REQUIRE(queries != kFree && keys != kFree, "a causal mask for sequences of unknown length");
  Tensor mask = Tensor::zeros(DType::kF32, {queries, keys});
  for (int64_t t = 0; t < queries; ++t) {
    for (int64_t s = t + keys - queries + 1; s < keys; ++s) {
      mask.data<float>()[t * keys + s] = -std::numeric_limits<float>::infinity();
    }
  }
  return exporter.constant(mask, "causal_mask");
}

void write_attention(Exporter& exporter, const Node& node) {
  const std::string layout = node.attrs().text("layout");
  const Shape& q = node.input(0)->shape();
  const int64_t features = layout == "packed" ? q[2] / (3 * node.attrs().integer("heads")) : q[3];
  const int time_axis = layout == "bhtd" ? 2 : 1;
  const int64_t keys = layout == "packed" ? q[1] : node.input(1)->shape()[time_axis];
  const Heads heads = by_head(exporter, node, layout, features);
  const double given = node.attrs().real("scale");
  const double scale = given != 0.0 ? given : 1.0 / std::sqrt(static_cast<double>(features));
  std::string scores = exporter.emit("MatMul", {heads.q, transposed(exporter, heads.k, {0, 1, 3, 2})});
  scores = exporter.emit("Mul", {scores, exporter.number(node.input(0), scale)});
  if (node.input(3) != nullptr) scores = exporter.emit("Add", {scores, exporter.name(node.input(3))});
  if (node.attrs().flag("causal")) scores = exporter.emit("Add", {scores, causal_mask(exporter, q[time_axis], keys)});
  const std::string weights = exporter.emit("Softmax", {scores}, {integer_attribute("axis", -1)});
  if (layout == "bhtd") return exporter.emit(node.output(), "MatMul", {weights, heads.v});
  const std::string y = exporter.emit("MatMul", {weights, heads.v});
  const std::vector<AttributeProto> back = {integers_attribute("perm", {0, 2, 1, 3})};
  if (layout == "bthd") return exporter.emit(node.output(), "Transpose", {y}, back);
  exporter.emit(node.output(), "Reshape", {exporter.emit("Transpose", {y}, back), exporter.integers({0, 0, -1})});
}

void write_batch_norm(Exporter& exporter, const Node& node) {
  std::vector<std::string> inputs;
  for (const Value* input : node.inputs()) inputs.push_back(exporter.name(input));
  exporter.emit(node.output(), "BatchNormalization", inputs,
                {real_attribute("epsilon", node.attrs().real("epsilon")),
                 real_attribute("momentum", node.attrs().real("momentum"))});
}

/// Does nothing at inference.
void write_dropout(Exporter& exporter, const Node& node) {
  const std::string ratio =
      exporter.constant(Tensor::scalar<float>(static_cast<float>(node.attrs().real("probability"))), "ratio");
  exporter.emit(node.output(), "Dropout", {exporter.name(node.input(0)), ratio},
                {integer_attribute("seed", node.attrs().integer("seed"))});
}

std::string ones(Exporter& exporter, const Shape& shape) {
  return exporter.constant(Tensor::full<float>(shape, 1.0F), "ones");
}

void write_layer_norm(Exporter& exporter, const Node& node) {
  const Shape& x = node.input(0)->shape();
  int64_t axis = node.attrs().integer("axis");
  if (axis < 0) axis += x.rank();
  const Shape normal(std::vector<int64_t>(x.begin() + axis, x.end()));
  const std::string scale = node.input(1) != nullptr ? exporter.name(node.input(1)) : ones(exporter, normal);
  exporter.emit(node.output(), "LayerNormalization",
                {exporter.name(node.input(0)), scale, exporter.name(node.input(2))},
                {integer_attribute("axis", axis), real_attribute("epsilon", node.attrs().real("epsilon"))});
}

void write_group_norm(Exporter& exporter, const Node& node) {
  const Shape channels{node.input(0)->shape()[1]};
  const std::string scale = node.input(1) != nullptr ? exporter.name(node.input(1)) : ones(exporter, channels);
  const std::string shift = node.input(2) != nullptr ? exporter.name(node.input(2))
                                                     : exporter.constant(Tensor::zeros(DType::kF32, channels), "zeros");
  exporter.emit(node.output(), "GroupNormalization", {exporter.name(node.input(0)), scale, shift},
                {integer_attribute("num_groups", node.attrs().integer("groups")),
                 real_attribute("epsilon", node.attrs().real("epsilon"))});
}

NodeWriter along_axis(const char* op_type) {
  return [op_type](Exporter& exporter, const Node& node) {
    exporter.emit(node.output(), op_type, {exporter.name(node.input(0))},
                  {integer_attribute("axis", node.attrs().integer("axis"))});
  };
}

const RegisterWriters kWriters({
    {op::kMatmul, write_matmul},
    {op::kLinear, write_linear},
    {op::kAttention, write_attention},
    {op::kBatchNormInference, write_batch_norm},
    {op::kDropout, write_dropout},
    {op::kLayerNorm, write_layer_norm},
    {op::kGroupNorm, write_group_norm},
    {op::kSoftmax, along_axis("Softmax")},
    {op::kLogSoftmax, along_axis("LogSoftmax")},
});

}  // namespace
}  // namespace thalweg::onnx
