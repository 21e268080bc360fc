// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Ops that move elements, and reductions.
#include "formats/onnx/exporter.h"
#include "ops/ids.h"

namespace thalweg::onnx {
namespace {

void write_reshape(Exporter& exporter, const Node& node) {
  exporter.emit(node.output(), "Reshape",
                {exporter.name(node.input(0)), exporter.integers(node.attrs().integers("shape"))},
                {integer_attribute("allowzero", node.attrs().integer("allow_zero"))});
}

void write_reshape_like(Exporter& exporter, const Node& node) {
  exporter.emit(node.output(), "Reshape",
                {exporter.name(node.input(0)), exporter.emit("Shape", {exporter.name(node.input(1))})});
}

void write_expand_like(Exporter& exporter, const Node& node) {
  exporter.emit(node.output(), "Expand",
                {exporter.name(node.input(0)), exporter.emit("Shape", {exporter.name(node.input(1))})});
}

NodeWriter with_axes(const char* op_type) {
  return [op_type](Exporter& exporter, const Node& node) {
    exporter.emit(node.output(), op_type,
                  {exporter.name(node.input(0)), exporter.integers(node.attrs().integers("axes"))});
  };
}

void write_transpose(Exporter& exporter, const Node& node) {
  std::vector<int64_t> order = node.attrs().integers("permutation");
  for (int64_t d = node.input(0)->shape().rank(); order.empty() && d-- > 0;) order.push_back(d);
  exporter.emit(node.output(), "Transpose", {exporter.name(node.input(0))}, {integers_attribute("perm", order)});
}

void write_concat(Exporter& exporter, const Node& node) {
  std::vector<std::string> parts;
  for (const Value* part : node.inputs()) parts.push_back(exporter.name(part));
  exporter.emit(node.output(), "Concat", parts, {integer_attribute("axis", node.attrs().integer("axis"))});
}

void write_split(Exporter& exporter, const Node& node) {
  exporter.emit_outputs({node.outputs().begin(), node.outputs().end()}, "Split",
                        {exporter.name(node.input(0)), exporter.integers(node.attrs().integers("sizes"))},
                        {integer_attribute("axis", node.attrs().integer("axis"))});
}

void write_slice(Exporter& exporter, const Node& node) {
  const Attributes& attrs = node.attrs();
  const std::vector<int64_t> axes = attrs.integers("axes");
  exporter.emit(node.output(), "Slice",
                {exporter.name(node.input(0)), exporter.integers(attrs.integers("starts")),
                 exporter.integers(attrs.integers("ends")), exporter.integers(axes),
                 exporter.integers(attrs.integers("steps", std::vector<int64_t>(axes.size(), 1)))});
}

void write_pad(Exporter& exporter, const Node& node) {
  exporter.emit(node.output(), "Pad",
                {exporter.name(node.input(0)), exporter.integers(node.attrs().integers("pads")),
                 exporter.number(node.input(0), node.attrs().real("value"))},
                {text_attribute("mode", node.attrs().text("mode"))});
}

/// Dimensions that stay as they are count as 1, which ONNX broadcasts.
void write_expand(Exporter& exporter, const Node& node) {
  std::vector<int64_t> shape = node.attrs().integers("shape");
  for (int64_t& dim : shape) dim = dim <= 0 ? 1 : dim;
  exporter.emit(node.output(), "Expand", {exporter.name(node.input(0)), exporter.integers(shape)});
}

void write_tile(Exporter& exporter, const Node& node) {
  exporter.emit(node.output(), "Tile",
                {exporter.name(node.input(0)), exporter.integers(node.attrs().integers("repeats"))});
}

NodeWriter reduction(const char* op_type) {
  return [op_type](Exporter& exporter, const Node& node) {
    const std::vector<int64_t> axes = node.attrs().integers("axes");
    exporter.emit(node.output(), op_type, {exporter.name(node.input(0)), axes.empty() ? "" : exporter.integers(axes)},
                  {integer_attribute("keepdims", node.attrs().integer("keep_dims"))});
  };
}

NodeWriter arg_extremum(const char* op_type) {
  return [op_type](Exporter& exporter, const Node& node) {
    exporter.emit(node.output(), op_type, {exporter.name(node.input(0))},
                  {integer_attribute("axis", node.attrs().integer("axis")),
                   integer_attribute("keepdims", node.attrs().integer("keep_dims"))});
  };
}

void write_top_k(Exporter& exporter, const Node& node) {
  exporter.emit_outputs({node.output(0), node.output(1)}, "TopK",
                        {exporter.name(node.input(0)), exporter.integers({node.attrs().integer("k")})},
                        {integer_attribute("axis", node.attrs().integer("axis")),
                         integer_attribute("largest", node.attrs().flag("smallest") ? 0 : 1)});
}

void write_cumsum(Exporter& exporter, const Node& node) {
  const std::string axis = exporter.constant(Tensor::scalar<int64_t>(node.attrs().integer("axis")), "axis");
  exporter.emit(node.output(), "CumSum", {exporter.name(node.input(0)), axis},
                {integer_attribute("exclusive", node.attrs().integer("exclusive")),
                 integer_attribute("reverse", node.attrs().integer("reverse"))});
}

void write_embedding(Exporter& exporter, const Node& node) {
  exporter.emit(node.output(), "Gather", {exporter.name(node.input(0)), exporter.name(node.input(1))});
}

const RegisterWriters kWriters({
    {op::kReshape, write_reshape},
    {op::kReshapeLike, write_reshape_like},
    {op::kExpandLike, write_expand_like},
    {op::kSqueeze, with_axes("Squeeze")},
    {op::kUnsqueeze, with_axes("Unsqueeze")},
    {op::kTranspose, write_transpose},
    {op::kConcat, write_concat},
    {op::kSplit, write_split},
    {op::kSlice, write_slice},
    {op::kPad, write_pad},
    {op::kExpand, write_expand},
    {op::kTile, write_tile},
    {op::kEmbedding, write_embedding},
    {op::kReduceSum, reduction("ReduceSum")},
    {op::kReduceMean, reduction("ReduceMean")},
    {op::kReduceMax, reduction("ReduceMax")},
    {op::kReduceMin, reduction("ReduceMin")},
    {op::kReduceProd, reduction("ReduceProd")},
    {op::kReduceL1, reduction("ReduceL1")},
    {op::kReduceL2, reduction("ReduceL2")},
    {op::kReduceLogSumExp, reduction("ReduceLogSumExp")},
    {op::kArgMax, arg_extremum("ArgMax")},
    {op::kArgMin, arg_extremum("ArgMin")},
    {op::kTopK, write_top_k},
    {op::kCumsum, write_cumsum},
});

}  // namespace
}  // namespace thalweg::onnx
