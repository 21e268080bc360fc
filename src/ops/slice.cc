// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "graph/op_registry.h"
#include "thalweg/ops/shape.h"

namespace thalweg {
namespace {

int64_t clamp(int64_t value, int64_t low, int64_t high) { return std::min(std::max(value, low), high); }

/// Elements that start:end:step takes from a dimension of `size`, after Python's rules.
int64_t slice_length(int64_t start, int64_t end, int64_t step, int64_t size) {
  if (start < 0) start += size;
  if (end < 0) end += size;
  if (step > 0) {
    start = clamp(start, 0, size);
    end = clamp(end, 0, size);
    return std::max<int64_t>(0, (end - start + step - 1) / step);
  }
  start = clamp(start, -1, size - 1);
  end = clamp(end, -1, size - 1);
  return std::max<int64_t>(0, (start - end - step - 1) / -step);
}

std::vector<TensorType> infer_slice(const InferContext& context) {
  TensorType result = context.type(0);
  const auto starts = context.attrs().integers("starts");
  const auto ends = context.attrs().integers("ends");
  const auto axes = context.attrs().integers("axes");
  const auto steps = context.attrs().integers("steps", std::vector<int64_t>(axes.size(), 1));
  context.require(starts.size() == axes.size() && ends.size() == axes.size() && steps.size() == axes.size(),
                  "starts, ends, axes and steps must be equally many");
  for (size_t i = 0; i < axes.size(); ++i) {
    context.require(steps[i] != 0, "step is 0");
    int64_t& dim = result.shape[context.axis(axes[i], result.shape.rank())];
    if (dim != kFree) dim = slice_length(starts[i], ends[i], steps[i], dim);
  }
  return {result};
}

const RegisterOp kSlice({"slice", 1, 1, infer_slice, nullptr});

}  // namespace

namespace ops {

Value* slice(Value* x, const std::vector<int64_t>& starts, const std::vector<int64_t>& ends,
             const std::vector<int64_t>& axes, const std::vector<int64_t>& steps) {
  Attributes attrs{{"starts", starts}, {"ends", ends}, {"axes", axes}};
  if (!steps.empty()) attrs.set("steps", steps);
  return x->graph().add("slice", {x}, std::move(attrs))->output();
}

}  // namespace ops
}  // namespace thalweg
