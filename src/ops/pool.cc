// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Pools and their gradients. Adaptive pools carry "output_size" instead of "kernel"; global ones are adaptive to
// size 1.
//   max_pool(x) -> y, index         index: the element's number within the window, u8 if that has at most 256 elements
//   max_pool_grad(dy, index, x)     of x only shape and layout count
//   avg_pool(x) -> y
//   avg_pool_grad(dy, x)            likewise
#include <algorithm>

#include "ops/axis_map.h"
#include "ops/ids.h"
#include "ops/window.h"
#include "thalweg/ops/conv.h"

namespace thalweg {
namespace {

constexpr int64_t kByteIndices = 256;

/// PyTorch's rule for ceil_mode: no window starts beyond the input and the padding before it.
int64_t pooled_extent(const Window& window, size_t d, int64_t in, bool ceil_mode) {
  if (in == kFree) return kFree;
  const int64_t room = in + window.begins[d] + window.ends[d] - window.reach(d);
  if (room < 0) return 0;
  if (!ceil_mode) return room / window.strides[d] + 1;
  const int64_t out = (room + window.strides[d] - 1) / window.strides[d] + 1;
  return (out - 1) * window.strides[d] >= in + window.begins[d] ? out - 1 : out;
}

void check_kernel(const InferContext& context, size_t rank) {
  const std::vector<int64_t> kernel = context.attrs().integers("kernel");
  context.require(kernel.size() == rank, "kernel has ", kernel.size(), " entries for ", rank, " spatial dimensions");
  check_window(context, rank);
  const Window window = read_window(context.attrs(), kernel);
  for (size_t d = 0; d < rank; ++d) {
    context.require(std::max(window.begins[d], window.ends[d]) < window.reach(d), "padding ",
                    std::max(window.begins[d], window.ends[d]), " is as large as the window (", window.reach(d), ")");
  }
}

Shape pooled_shape(const InferContext& context) {
  const Shape& x = context.shape(0);
  context.require(x.rank() >= 3 && x.rank() <= 5, "the input must have 1 to 3 spatial dimensions");
  const auto rank = static_cast<size_t>(x.rank()) - 2;
  std::vector<int64_t> out = context.attrs().integers("output_size");
  if (context.attrs().has("output_size")) {
    context.require(out.size() == rank, "output_size has ", out.size(), " entries for ", rank, " spatial dimensions");
    for (int d = 2; d < x.rank(); ++d) context.require(x[d] != 0, "spatial dimension ", d - 2, " is empty");
    return with_spatial(x[0], x[1], out);
  }
  check_kernel(context, rank);
  const Window window = read_window(context.attrs(), context.attrs().integers("kernel"));
  for (size_t d = 0; d < rank; ++d) {
    const int64_t in = x[static_cast<int>(d) + 2];
    out.push_back(pooled_extent(window, d, in, context.attrs().flag("ceil_mode")));
    context.require(out[d] != 0, "the window reaches over ", window.reach(d), " elements of spatial dimension ", d,
                    ", which has ", in, " and padding ", window.begins[d], "+", window.ends[d]);
  }
  return with_spatial(x[0], x[1], out);
}

/// The widest window of an adaptive pool is not known while extents are free: such a pool counts in i32.
int64_t window_elements(const InferContext& context, const Shape& y) {
  int64_t count = 1;
  if (!context.attrs().has("output_size")) {
    for (int64_t extent : context.attrs().integers("kernel")) count *= extent;
    return count;
  }
  for (int d = 2; d < y.rank(); ++d) {
    const int64_t in = context.shape(0)[d];
    if (in == kFree) return kByteIndices + 1;
    count *= in / y[d] + 2;
  }
  return count;
}

/// The largest of quantised values stands for the largest of the numbers they stand for.
std::vector<TensorType> infer_max_pool(const InferContext& context) {
  const bool bytes_in = context.dtype(0) == DType::kU8 || context.dtype(0) == DType::kI8;
  context.require(bytes_in || is_floating(context.dtype(0)), "the input must be floating, u8 or i8");
  const Shape y = pooled_shape(context);
  const bool bytes = window_elements(context, y) <= kByteIndices;
  return {{context.dtype(0), y}, {bytes ? DType::kU8 : DType::kI32, y}};
}

std::vector<TensorType> infer_avg_pool(const InferContext& context) {
  context.require_floating(0);
  for (int64_t dilation : context.attrs().integers("dilations")) {
    context.require(dilation == 1, "average pooling has no dilation, got ", dilation);
  }
  return {{context.dtype(0), pooled_shape(context)}};
}

std::vector<TensorType> infer_like_last(const InferContext& context) {
  return {{context.dtype(0), context.shape(context.num_inputs() - 1)}};
}

void max_pool_gradient(GradientContext& context) {
  const std::vector<Value*> inputs{context.output_gradient(), context.output(1), context.input(0)};
  context.set(0, context.graph().add(op::kMaxPoolGrad, inputs, context.attrs())->output());
}

void avg_pool_gradient(GradientContext& context) {
  const std::vector<Value*> inputs{context.output_gradient(), context.input(0)};
  context.set(0, context.graph().add(op::kAvgPoolGrad, inputs, context.attrs())->output());
}

const std::vector<AttributeDef> kAttributes =
    with_window({attr::integers("kernel", "the extents of the window").between(1, kMostWindow),
                 attr::integers("output_size", "of an adaptive pool, in place of a window").at_least(1),
                 attr::flag("ceil_mode", "the last window may reach over the end"),
                 attr::flag("count_include_pad", "padding counts as zeros in a mean", true)},
                false);

const RegisterOp kMaxPool(op::kMaxPool, 1, "The largest element of each window, and its number within the window.",
                          infer_max_pool, max_pool_gradient, kAttributes,
                          {.traits = Trait::kFollowsBf16 | Trait::kMovesElements});
const RegisterOp kAvgPool(op::kAvgPool, 1, "The mean of each window.", infer_avg_pool, avg_pool_gradient, kAttributes,
                          {.traits = Trait::kFollowsBf16});
const RegisterOp kMaxPoolGrad(op::kMaxPoolGrad, 3, "", infer_like_last, nullptr, kAttributes);
const RegisterOp kAvgPoolGrad(op::kAvgPoolGrad, 2, "", infer_like_last, nullptr, kAttributes);

Value* pool(OpId op, Value* x, Attributes attrs, const std::string& name) {
  return x->graph().add(op, {x}, std::move(attrs), name)->output();
}

Attributes window_attributes(const ops::PoolOptions& options) {
  Attributes attrs{{"kernel", options.kernel}, {"strides", options.strides}, {"pads", options.pads}};
  attrs.set("ceil_mode", int64_t{options.ceil_mode});
  return attrs;
}

std::vector<int64_t> ones(const Value* x) {
  return std::vector<int64_t>(static_cast<size_t>(std::max(x->shape().rank() - 2, 0)), 1);
}

}  // namespace

namespace ops {

Value* max_pool(Value* x, const PoolOptions& options, const std::string& name) {
  Attributes attrs = window_attributes(options);
  attrs.set("dilations", options.dilations);
  return pool(op::kMaxPool, x, std::move(attrs), name);
}

Value* avg_pool(Value* x, const PoolOptions& options, const std::string& name) {
  Attributes attrs = window_attributes(options);
  attrs.set("dilations", options.dilations);
  attrs.set("count_include_pad", int64_t{options.count_include_pad});
  return pool(op::kAvgPool, x, std::move(attrs), name);
}

Value* adaptive_avg_pool(Value* x, const std::vector<int64_t>& output_size, const std::string& name) {
  return pool(op::kAvgPool, x, {{"output_size", output_size}}, name);
}

Value* adaptive_max_pool(Value* x, const std::vector<int64_t>& output_size, const std::string& name) {
  return pool(op::kMaxPool, x, {{"output_size", output_size}}, name);
}

Value* global_avg_pool(Value* x, const std::string& name) { return adaptive_avg_pool(x, ones(x), name); }
Value* global_max_pool(Value* x, const std::string& name) { return adaptive_max_pool(x, ones(x), name); }

}  // namespace ops
}  // namespace thalweg
