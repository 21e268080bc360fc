// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "graph/op_registry.h"
#include "ops/ids.h"
#include "thalweg/ops/shape.h"

namespace thalweg {
namespace {

std::vector<TensorType> infer_concat(const InferContext& context) {
  TensorType result = context.type(0);
  const int axis = context.axis(context.attrs().integer("axis"), result.shape.rank());
  for (size_t i = 1; i < context.num_inputs(); ++i) {
    const Shape& part = context.shape(i);
    context.require(part.rank() == result.shape.rank(), "part ", i, " has another number of dimensions");
    context.require(context.dtype(i) == result.dtype, "part ", i, " has another element type");
    for (int d = 0; d < part.rank(); ++d) {
      int64_t& dim = result.shape[d];
      if (d == axis) {
        dim = dim == kFree || part[d] == kFree ? kFree : dim + part[d];
      } else {
        context.require(dim == part[d] || dim == kFree || part[d] == kFree, "part ", i, " differs in dimension ", d);
        if (dim == kFree) dim = part[d];
      }
    }
  }
  return {result};
}

void concat_gradient(GradientContext& context) {
  const int64_t axis = context.attrs().integer("axis");
  int64_t begin = 0;
  for (size_t i = 0; i < context.node().inputs().size(); ++i) {
    const int64_t size = context.input(i)->shape()[static_cast<int>(axis)];
    if (context.wants(i)) context.set(i, ops::slice(context.output_gradient(), {begin}, {begin + size}, {axis}));
    begin += size;
  }
}

const RegisterOp kConcat(
    op::kConcat, {1, -1}, "Puts the inputs one after the other along an axis.", infer_concat, concat_gradient,
    {attr::integer("axis", 0, "that along which they are joined; negative: from the end").needed()},
    {.traits = Trait::kFollowsBf16, .data_inputs = -1});

}  // namespace

namespace ops {

Value* concat(const std::vector<Value*>& parts, int64_t axis) {
  TW_REQUIRE(!parts.empty(), "concat needs at least one part");
  return parts[0]->graph().add(op::kConcat, parts, {{"axis", axis}})->output();
}

}  // namespace ops
}  // namespace thalweg
