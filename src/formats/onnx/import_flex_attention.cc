// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// FlexAttention: attention whose scores and probabilities go through graphs that the model brings along.
#include <cmath>
#include <unordered_map>

#include "formats/onnx/import_attention.h"
#include "formats/onnx/tensor_data.h"
#include "graph/host_op.h"
#include "thalweg/ops.h"

namespace thalweg::onnx {
namespace {

/// Composes the nodes of a graph in an attribute, one after another, in the graph that is being built.
class InlinedBody {
 public:
  InlinedBody(const NodeContext& context, const Graph& body) : context_(context), body_(body) {}

  Value* run(const std::vector<Value*>& inputs) {
    context_.require(inputs.size() == body_.inputs().size() && body_.outputs().size() == 1, "its graph takes ",
                     body_.inputs().size(), " inputs and gives ", body_.outputs().size(), " results, not ",
                     inputs.size(), " and 1");
    for (size_t i = 0; i < inputs.size(); ++i) values_[body_.inputs()[i]] = inputs[i];
    for (const auto& node : body_.nodes()) add(*node);
    return find(body_.outputs()[0]);
  }

 private:
  Value* find(const Value* value) {
    const auto found = values_.find(value);
    if (found != values_.end()) return found->second;
    context_.require(value->kind() == Value::Kind::kConstant, "its graph reads '", value->name(),
                     "', which is neither computed nor constant");
    return values_[value] = context_.constant(value->data());
  }

  void add(const Node& node) {
    std::vector<Value*> inputs;
    for (const Value* input : node.inputs()) inputs.push_back(input == nullptr ? nullptr : find(input));
    context_.require(node.op().compose || node.op().infer, describe(node), " in its graph is not supported");
    const std::vector<Value*> results =
        node.op().compose ? node.op().compose(ComposeContext(context_.graph(), node, inputs, context_.find_content()))
                          : context_.graph().add(node.op_name(), inputs, node.attrs(), node.name())->outputs();
    for (size_t i = 0; i < node.outputs().size() && i < results.size(); ++i) values_[node.output(i)] = results[i];
  }

  const NodeContext& context_;
  const Graph& body_;
  std::unordered_map<const Value*, Value*> values_;
};

/// What the graph in an attribute makes of x; x itself if there is none.
Value* modified(const NodeContext& context, const std::string& attribute, Value* x) {
  const std::shared_ptr<Graph> body = context.attrs().graph(attribute);
  if (body == nullptr) return x;
  std::vector<Value*> inputs{x};
  for (const int64_t index : context.integers(attribute + kCapturesOf)) {
    inputs.push_back(context.input(static_cast<size_t>(index)));
  }
  Value* y = InlinedBody(context, *body).run(inputs);
  context.require(y->type() == x->type(), attribute, " makes ", y->type(), " of ", x->type());
  return y;
}

Value* flex_attention(const NodeContext& context) {
  Value *q = context.input(0), *k = context.input(1), *v = context.input(2);
  for (const Value* value : {q, k, v}) {
    context.require(static_shape(context, value).rank() == 4, "operands must be [B, H, T, D], not ", value->shape());
  }
  const DType dtype = q->dtype();
  const int64_t heads = q->shape()[1], shared = k->shape()[1];
  context.require(shared > 0 && heads % shared == 0, heads, " heads of queries do not divide by ", shared);
  DType wide = dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  if (context.has_attribute("softmax_precision")) {
    const auto asked = dtype_of(static_cast<DataType>(context.integer("softmax_precision", 1)));
    context.require(asked.has_value() && is_floating(*asked), "the softmax_precision asked for is not supported");
    wide = *asked;
  }
  const double scale = context.real("scale", 1.0 / std::sqrt(static_cast<double>(q->shape()[3])));
  q = ops::cast(q, wide);
  k = repeat_heads(ops::cast(k, wide), heads / shared);
  v = repeat_heads(ops::cast(v, wide), heads / shared);
  Value* scores = ops::mul(ops::matmul(q, k, false, true), scale);
  scores = modified(context, "score_mod", scores);
  Value* probability = modified(context, "prob_mod", ops::softmax(scores, 3, context.name()));
  return ops::cast(ops::matmul(probability, v), dtype);
}

const RegisterConverters kConverters({{"FlexAttention", single(flex_attention)}}, "ai.onnx.preview");

}  // namespace
}  // namespace thalweg::onnx
