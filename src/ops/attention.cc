// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "graph/op_registry.h"
#include "ops/attention_heads.h"
#include "ops/broadcast.h"
#include "ops/ids.h"
#include "thalweg/ops/elementwise.h"
#include "thalweg/ops/matmul.h"

namespace thalweg {
namespace {

HeadStrides by_head(int64_t heads, int64_t times, int64_t width) {
  return {0, heads * times * width, width, times * width};
}

HeadStrides by_time(int64_t heads, int64_t times, int64_t width) {
  return {0, heads * times * width, heads * width, width};
}

}  // namespace

AttentionShape::AttentionShape(const Attributes& attrs, const Shape& qs, const Shape& ks, const Shape& vs)
    : batch(qs[0]), causal(attrs.flag("causal")), packed(attrs.text("layout") == "packed") {
  if (packed) {
    heads = attrs.integer("heads");
    queries = keys = qs[1];
    width = value_width = qs[2] / (3 * heads);
    const int64_t row = 3 * heads * width;
    q = {0, queries * row, row, width};
    k = {heads * width, queries * row, row, width};
    v = {2 * heads * width, queries * row, row, width};
    y = by_time(heads, queries, width);
  } else {
    const bool time_first = attrs.text("layout") == "bthd";
    const int time_axis = time_first ? 1 : 2;
    const auto strides = time_first ? by_time : by_head;
    heads = qs[time_first ? 2 : 1];
    queries = qs[time_axis];
    keys = ks[time_axis];
    width = qs[3];
    value_width = vs[3];
    q = strides(heads, queries, width);
    k = strides(heads, keys, width);
    v = strides(heads, keys, value_width);
    y = strides(heads, queries, value_width);
  }
  scale = attrs.real("scale");
  if (scale == 0.0) scale = 1.0 / std::sqrt(static_cast<double>(std::max<int64_t>(1, width)));
}

int64_t AttentionShape::visible(int64_t query) const {
  return causal ? std::clamp<int64_t>(query + keys - queries + 1, 0, keys) : keys;
}

namespace {

bool fits(int64_t a, int64_t b) { return a == b || a == kFree || b == kFree; }

void require_operands(const InferContext& context) {
  const std::string layout = context.attrs().text("layout");
  if (layout == "packed") {
    context.require_rank(0, 3);
    const int64_t heads = context.attrs().integer("heads");
    const int64_t features = context.shape(0)[2];
    context.require(heads > 0 && features != kFree && features % (3 * heads) == 0, features,
                    " features are not q, k and v of ", heads, " heads");
    return;
  }
  for (size_t i = 0; i < 3; ++i) {
    context.require(context.has(i), "q, k and v are needed");
    context.require_rank(i, 4);
    context.require(context.dtype(i) == context.dtype(0), "element types differ");
  }
  const Shape& q = context.shape(0);
  const Shape& k = context.shape(1);
  const Shape& v = context.shape(2);
  const int head_axis = layout == "bthd" ? 2 : 1;
  const int time_axis = layout == "bthd" ? 1 : 2;
  for (int axis : {0, head_axis}) {
    context.require(fits(q[axis], k[axis]) && fits(q[axis], v[axis]), "q, k and v differ in dimension ", axis);
  }
  context.require(fits(k[time_axis], v[time_axis]), "there are ", k[time_axis], " keys but ", v[time_axis], " values");
  context.require(fits(q[3], k[3]), "queries have ", q[3], " features, keys ", k[3]);
}

/// Shape of the scores [B, H, T, S]; free where a part of it is.
Shape scores_shape(const InferContext& context) {
  const Shape& q = context.shape(0);
  const std::string layout = context.attrs().text("layout");
  if (layout == "packed") return {q[0], context.attrs().integer("heads"), q[1], q[1]};
  const Shape& k = context.shape(1);
  return layout == "bthd" ? Shape{q[0], q[2], q[1], k[1]} : Shape{q[0], q[1], q[2], k[2]};
}

std::vector<TensorType> infer_attention(const InferContext& context) {
  require_operands(context);
  const Shape scores = scores_shape(context);
  if (context.has(3)) {
    const Shape both = broadcast_shapes(context, context.shape(3), scores);
    context.require(context.shape(3).rank() <= 4 && (both == scores || !scores.is_static()), "a mask of shape ",
                    context.shape(3), " does not broadcast to the scores ", scores);
    context.require(context.dtype(3) == context.dtype(0), "the mask has another element type");
  }
  TensorType y = context.type(0);
  if (context.attrs().text("layout") == "packed") {
    y.shape[2] /= 3;
  } else {
    y.shape[3] = context.shape(2)[3];
  }
  const DType sums = context.dtype(0) == DType::kF64 ? DType::kF64 : DType::kF32;
  return {y, {sums, {scores[0], scores[1], scores[2]}}};
}

/// attention_grad(q, k, v, mask, y, log-sum-exp, dy): gradients of q, k and v (of qkv alone if packed), then with
/// attribute "mask_gradient" that of the scores.
std::vector<TensorType> infer_attention_grad(const InferContext& context) {
  std::vector<TensorType> types{context.type(0)};
  if (context.attrs().text("layout") != "packed") types.insert(types.end(), {context.type(1), context.type(2)});
  if (context.attrs().flag("mask_gradient")) types.push_back({context.dtype(0), scores_shape(context)});
  return types;
}

void attention_gradient(GradientContext& context) {
  Value* dy = context.output_gradient(0);
  TW_REQUIRE(dy != nullptr && context.output_gradient(1) == nullptr, describe(context.node()),
             ": the log-sum-exp is for its own gradient only and has none");
  Attributes attrs = context.attrs();
  if (context.wants(3)) attrs.set("mask_gradient", int64_t{1});
  const Node* node = context.graph().add(op::kAttentionGrad,
                                         {context.input(0), context.input(1), context.input(2), context.input(3),
                                          context.output(0), context.output(1), dy},
                                         std::move(attrs));
  const size_t operands = context.attrs().text("layout") == "packed" ? 1 : 3;
  for (size_t i = 0; i < operands; ++i) {
    if (context.wants(i)) context.set(i, node->output(i));
  }
  if (context.wants(3)) context.set(3, ops::sum_to(node->output(operands), context.input(3)->shape()));
}

const std::vector<AttributeDef> kAttributes{
    attr::text("layout", "bhtd", "of q, k and v: [B, H, T, D], [B, T, H, D], or side by side in [B, T, 3 * H * D]")
        .one_of({"bhtd", "bthd", "packed"}),
    attr::real("scale", 0.0, "of the scores; 0: 1 / sqrt(D)"),
    attr::flag("causal", "a query sees no later keys than its own"),
    attr::integer("heads", 0, "of the packed layout").at_least(0)};
const std::vector<AttributeDef> kGradAttributes = [] {
  std::vector<AttributeDef> all = kAttributes;
  all.push_back(attr::flag("mask_gradient", "also gives the gradient of the scores"));
  return all;
}();

const RegisterOp kAttention(op::kAttention, {1, 4}, "softmax(q k^T * scale + mask) v, head by head.", infer_attention,
                            attention_gradient, kAttributes);
const RegisterOp kAttentionGrad(op::kAttentionGrad, 7, "", infer_attention_grad, nullptr, kGradAttributes);

Value* add_attention(std::vector<Value*> inputs, const char* layout, double scale, bool causal, int64_t heads,
                     const std::string& name) {
  Attributes attrs{{"layout", std::string(layout)}};
  if (scale != 0.0) attrs.set("scale", scale);
  if (causal) attrs.set("causal", int64_t{1});
  if (heads > 0) attrs.set("heads", heads);
  Graph& graph = inputs[0]->graph();
  return graph.add(op::kAttention, std::move(inputs), std::move(attrs), name)->output();
}

}  // namespace

namespace ops {

Value* attention(Value* q, Value* k, Value* v, Value* mask, double scale, bool causal, const std::string& name) {
  return add_attention({q, k, v, mask}, "bhtd", scale, causal, 0, name);
}

Value* attention_by_time(Value* q, Value* k, Value* v, Value* mask, double scale, bool causal,
                         const std::string& name) {
  return add_attention({q, k, v, mask}, "bthd", scale, causal, 0, name);
}

Value* self_attention(Value* qkv, int64_t heads, Value* mask, double scale, bool causal, const std::string& name) {
  TW_REQUIRE(heads > 0, "self_attention '", name, "': ", heads, " heads");
  return add_attention({qkv, nullptr, nullptr, mask}, "packed", scale, causal, heads, name);
}

}  // namespace ops
}  // namespace thalweg
