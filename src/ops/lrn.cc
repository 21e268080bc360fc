// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// lrn(x) -> y and lrn_grad(dy, x) -> dx; attributes size, alpha, beta, bias.
#include "graph/op_registry.h"
#include "ops/ids.h"
#include "thalweg/ops/conv.h"

namespace thalweg {
namespace {

std::vector<TensorType> infer_lrn(const InferContext& context) {
  context.require_floating(0);
  context.require(context.shape(0).rank() >= 2 && context.shape(0).rank() <= 5,
                  "the input must have a channel and at most 3 spatial dimensions");
  return {context.type(0)};
}

void lrn_gradient(GradientContext& context) {
  const std::vector<Value*> inputs{context.output_gradient(), context.input(0)};
  context.set(0, context.graph().add(op::kLrnGrad, inputs, context.attrs())->output());
}

const std::vector<AttributeDef> kAttributes{
    attr::integer("size", 1, "channels whose squares are summed").at_least(1).needed(),
    attr::real("alpha", 1e-4, "their weight, divided by size"), attr::real("beta", 0.75, "the power"),
    attr::real("bias", 1.0, "added before the power")};

const RegisterOp kLrn(op::kLrn, 1, "Divides by a power of the squares of neighbouring channels.", infer_lrn,
                      lrn_gradient, kAttributes, {.traits = Trait::kFollowsBf16, .onnx = {{"LRN"}}});
const RegisterOp kLrnGrad(op::kLrnGrad, 2, "", same_as_input(), nullptr, kAttributes);

}  // namespace

namespace ops {

Value* lrn(Value* x, int64_t size, double alpha, double beta, double bias, const std::string& name) {
  const Attributes attrs{{"size", size}, {"alpha", alpha}, {"beta", beta}, {"bias", bias}};
  return x->graph().add(op::kLrn, {x}, attrs, name)->output();
}

}  // namespace ops
}  // namespace thalweg
