// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// lrn(x) -> y and lrn_grad(dy, x) -> dx; attributes size, alpha, beta, bias.
#include "graph/op_registry.h"
#include "thalweg/ops/conv.h"

namespace thalweg {
namespace {

std::vector<TensorType> infer_lrn(const InferContext& context) {
  context.require_floating(0);
  context.require(context.shape(0).rank() >= 2 && context.shape(0).rank() <= 5,
                  "the input must have a channel and at most 3 spatial dimensions");
  context.require(context.attrs().integer("size") >= 1, "size must be at least 1, got ",
                  context.attrs().integer("size"));
  return {context.type(0)};
}

void lrn_gradient(GradientContext& context) {
  const std::vector<Value*> inputs{context.output_gradient(), context.input(0)};
  context.set(0, context.graph().add("lrn_grad", inputs, context.attrs())->output());
}

const RegisterOp kLrn({"lrn", 1, 1, infer_lrn, lrn_gradient});
const RegisterOp kLrnGrad({"lrn_grad", 2, 2, same_as_input(), nullptr});

}  // namespace

namespace ops {

Value* lrn(Value* x, int64_t size, double alpha, double beta, double bias, const std::string& name) {
  const Attributes attrs{{"size", size}, {"alpha", alpha}, {"beta", beta}, {"bias", bias}};
  return x->graph().add("lrn", {x}, attrs, name)->output();
}

}  // namespace ops
}  // namespace thalweg
