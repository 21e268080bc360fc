// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "graph/op_registry.h"
#include "ops/ids.h"
#include "thalweg/ops/shape.h"

namespace thalweg {
namespace {

std::vector<TensorType> infer_element_count(const InferContext& context) {
  for (int64_t axis : context.attrs().integers("axes")) context.axis(axis, context.shape(0).rank());
  return {{DType::kF32, Shape{}}};
}

const RegisterOp kElementCount(op::kElementCount, 1,
                               "How many elements there are along some axes, all if none are named.",
                               infer_element_count, nullptr,
                               {attr::integers("axes", "those that are counted; all if there are none")},
                               {.zero_gradient = true});

}  // namespace

namespace ops {

Value* element_count(Value* x, const std::vector<int64_t>& axes) {
  Attributes attrs;
  if (!axes.empty()) attrs.set("axes", axes);
  return x->graph().add(op::kElementCount, {x}, std::move(attrs))->output();
}

}  // namespace ops
}  // namespace thalweg
