// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "graph/op_registry.h"
#include "thalweg/ops/shape.h"

namespace thalweg {
namespace {

std::vector<TensorType> infer_element_count(const InferContext& context) {
  for (int64_t axis : context.attrs().integers("axes")) context.axis(axis, context.shape(0).rank());
  return {{DType::kF32, Shape{}}};
}

const RegisterOp kElementCount({"element_count", 1, 1, infer_element_count, nullptr, true});

}  // namespace

namespace ops {

Value* element_count(Value* x, const std::vector<int64_t>& axes) {
  Attributes attrs;
  if (!axes.empty()) attrs.set("axes", axes);
  return x->graph().add("element_count", {x}, std::move(attrs))->output();
}

}  // namespace ops
}  // namespace thalweg
