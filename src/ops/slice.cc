// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "graph/op_registry.h"
#include "ops/ids.h"
#include "ops/slice_bounds.h"
#include "thalweg/ops/shape.h"

namespace thalweg {

SliceBounds slice_bounds(int64_t start, int64_t end, int64_t step, int64_t size) {
  if (start < 0) start += size;
  if (end < 0) end += size;
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, size);
    end = std::clamp<int64_t>(end, 0, size);
  } else {
    start = std::clamp<int64_t>(start, -1, size - 1);
    end = std::clamp<int64_t>(end, -1, size - 1);
  }
  const int64_t distance = end - start;
  if (distance == 0 || (distance > 0) != (step > 0)) return {start, 1, 0};
  const int64_t length = (distance - (step > 0 ? 1 : -1)) / step + 1;
  // Kernels multiply the step by strides, so one that is never taken must not be as large as it was given.
  return {start, length == 1 ? 1 : step, length};
}

std::vector<SliceBounds> slice_bounds(const Attributes& attrs, const Shape& whole) {
  std::vector<SliceBounds> bounds;
  for (int64_t size : whole) bounds.push_back({0, 1, size});
  const auto starts = attrs.integers("starts");
  const auto ends = attrs.integers("ends");
  const auto axes = attrs.integers("axes");
  const auto steps = attrs.integers("steps", std::vector<int64_t>(axes.size(), 1));
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i] < 0 ? axes[i] + whole.rank() : axes[i]);
    bounds[axis] = slice_bounds(starts[i], ends[i], steps[i], whole.dims()[axis]);
  }
  return bounds;
}

namespace {

std::vector<TensorType> infer_slice(const InferContext& context) {
  TensorType result = context.type(0);
  const auto starts = context.attrs().integers("starts");
  const auto ends = context.attrs().integers("ends");
  const auto axes = context.attrs().integers("axes");
  const auto steps = context.attrs().integers("steps", std::vector<int64_t>(axes.size(), 1));
  context.require(starts.size() == axes.size() && ends.size() == axes.size() && steps.size() == axes.size(),
                  "starts, ends, axes and steps must be equally many");
  std::vector<bool> seen(static_cast<size_t>(result.shape.rank()));
  for (size_t i = 0; i < axes.size(); ++i) {
    context.require(steps[i] != 0, "step is 0");
    const int axis = context.axis(axes[i], result.shape.rank());
    context.require(!seen[static_cast<size_t>(axis)], "dimension ", axis, " appears twice in axes");
    seen[static_cast<size_t>(axis)] = true;
    int64_t& dim = result.shape[axis];
    if (dim != kFree) dim = slice_bounds(starts[i], ends[i], steps[i], dim).length;
  }
  return {result};
}

/// slice_grad(dy): zeros of the whole shape with dy in the sliced place. Attribute "sizes" has the extents of the
/// sliced axes; where those were free when the rule ran, they come from input 1, whose content does not matter.
std::vector<TensorType> infer_slice_grad(const InferContext& context) {
  TensorType result = context.type(0);
  const auto axes = context.attrs().integers("axes");
  const auto sizes = context.attrs().integers("sizes");
  for (size_t i = 0; i < axes.size(); ++i) {
    const int axis = context.axis(axes[i], result.shape.rank());
    result.shape[axis] = sizes[i] == kFree ? context.shape(1)[axis] : sizes[i];
  }
  return {result};
}

void slice_gradient(GradientContext& context) {
  Attributes attrs = context.attrs();
  std::vector<int64_t> sizes;
  bool known = true;
  for (int64_t axis : attrs.integers("axes")) {
    sizes.push_back(context.input(0)->shape()[static_cast<int>(axis)]);
    known &= sizes.back() != kFree;
  }
  attrs.set("sizes", sizes);
  std::vector<Value*> inputs{context.output_gradient()};
  if (!known) inputs.push_back(context.input(0));
  context.set(0, context.graph().add(op::kSliceGrad, std::move(inputs), std::move(attrs))->output());
}

void slice_grad_gradient(GradientContext& context) {
  Attributes attrs = context.attrs();
  attrs.erase("sizes");
  context.set(0, context.graph().add(op::kSlice, {context.output_gradient()}, std::move(attrs))->output());
}

const std::vector<AttributeDef> kSliceAttributes{
    attr::integers("starts", "the first element of each axis; negative: from the end"),
    attr::integers("ends", "the one after the last"), attr::integers("axes", "those that are cut"),
    attr::integers("steps", "from element to element; 1 if there are none")};
const std::vector<AttributeDef> kSliceGradAttributes = [] {
  std::vector<AttributeDef> all = kSliceAttributes;
  all.push_back(attr::integers("sizes", "the extents of the axes before they were cut"));
  return all;
}();

const RegisterOp kSlice(op::kSlice, 1, "Parts of some axes, from a start to an end by a step.", infer_slice,
                        slice_gradient, kSliceAttributes, {.traits = Trait::kMovesElements | Trait::kFollowsBf16});
const RegisterOp kSliceGrad(op::kSliceGrad, {1, 2}, "", infer_slice_grad, slice_grad_gradient, kSliceGradAttributes);

std::vector<TensorType> infer_split(const InferContext& context) {
  const TensorType& whole = context.type(0);
  const int axis = context.axis(context.attrs().integer("axis"), whole.shape.rank());
  const auto sizes = context.attrs().integers("sizes");
  context.require(!sizes.empty(), "there must be at least one part");
  std::vector<TensorType> parts;
  int64_t total = 0;
  for (int64_t size : sizes) {
    context.require(size >= 0 && size <= kMostElements, "a part has size ", size);
    total += size;
    parts.push_back(whole);
    parts.back().shape[axis] = size;
  }
  context.require(whole.shape[axis] == kFree || whole.shape[axis] == total, "parts of ", total,
                  " in all do not make up ", whole.shape[axis]);
  return parts;
}

void split_gradient(GradientContext& context) {
  std::vector<Value*> parts;
  for (size_t i = 0; i < context.node().outputs().size(); ++i) {
    Value* gradient = context.output_gradient(i);
    if (gradient == nullptr) {
      Value* zero = context.graph().constant(Tensor::zeros(context.output(i)->dtype(), {}));
      gradient = context.graph().add(op::kExpandLike, {zero, context.output(i)})->output();
    }
    parts.push_back(gradient);
  }
  context.set(0, ops::concat(parts, context.attrs().integer("axis")));
}

const RegisterOp kSplit(op::kSplit, 1, "Parts of given sizes along an axis.", infer_split, split_gradient,
                        {attr::integer("axis", 0, "that which is cut; negative: from the end"),
                         attr::integers("sizes", "of the parts").at_least(0).needed()},
                        {.traits = Trait::kFollowsBf16});

}  // namespace

namespace ops {

Value* slice(Value* x, const std::vector<int64_t>& starts, const std::vector<int64_t>& ends,
             const std::vector<int64_t>& axes, const std::vector<int64_t>& steps) {
  Attributes attrs{{"starts", starts}, {"ends", ends}, {"axes", axes}};
  if (!steps.empty()) attrs.set("steps", steps);
  return x->graph().add(op::kSlice, {x}, std::move(attrs))->output();
}

std::vector<Value*> split(Value* x, const std::vector<int64_t>& sizes, int64_t axis) {
  return x->graph().add(op::kSplit, {x}, {{"sizes", sizes}, {"axis", axis}})->outputs();
}

}  // namespace ops
}  // namespace thalweg
