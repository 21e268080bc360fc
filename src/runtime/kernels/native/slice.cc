// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Slices and their gradients, in the layout in which the activation lies.
#include <optional>

#include "ops/ids.h"
#include "ops/slice_bounds.h"
#include "runtime/kernel.h"
#include "runtime/kernels/native/channel_form.h"
#include "runtime/kernels/native/channel_moves.h"
#include "runtime/kernels/native/strided_copy.h"

namespace thalweg {
namespace {

using Bounds = std::vector<SliceBounds>;

/// How a slice reads, or its gradient writes: layouts of both sides, and the copy between them.
struct SlicePlan {
  Layout whole, part;
  StridedCopy copy;
  int64_t offset = 0;  ///< of the part's first element in the whole, in bytes
};

/// The copy between both sides, whose dimensions `bounds` cuts.
SlicePlan plan_of(const Layout& whole, const Layout& part, const Bounds& bounds, std::vector<int64_t> whole_strides,
                  const std::vector<int64_t>& part_dims, const std::vector<int64_t>& part_strides, bool into_whole) {
  SlicePlan plan{whole, part, {}, 0};
  for (size_t d = 0; d < bounds.size(); ++d) {
    plan.offset += bounds[d].start * whole_strides[d];
    whole_strides[d] *= bounds[d].step;
  }
  const auto element = static_cast<int64_t>(size_of(whole.dtype()));
  plan.copy = into_whole ? StridedCopy(part_dims, part_strides, whole_strides, element)
                         : StridedCopy(part_dims, whole_strides, part_strides, element);
  return plan;
}

SlicePlan plan_row_major(const TensorType& whole, const TensorType& part, const Bounds& bounds, bool into_whole) {
  const auto element = static_cast<int64_t>(size_of(whole.dtype));
  std::vector<int64_t> outer = whole.shape.strides(), inner = part.shape.strides();
  for (int64_t& stride : outer) stride *= element;
  for (int64_t& stride : inner) stride *= element;
  return plan_of(Layout(whole), Layout(part), bounds, outer, part.shape.dims(), inner, into_whole);
}

/// What `bounds` on [N, C, spatial...] mean for N, blocks of channels, spatial..., and channels of a block; nothing if
/// they cut blocks.
std::optional<Bounds> bounds_of_blocks(const Bounds& bounds, int64_t channels, const BlockedDims& part) {
  Bounds result = bounds;
  if (part.last) {
    result[1] = {0, 1, 1};
    result.push_back(bounds[1]);
    return result;
  }
  const SliceBounds& cut = bounds[1];
  const int64_t block = part.dims.back();
  const bool ends_with_block = cut.length % block == 0 || cut.start + cut.length == channels;
  if (cut.step != 1 || cut.start % block != 0 || !ends_with_block) return {};
  result[1] = {cut.start / block, 1, part.dims[1]};
  result.push_back({0, 1, block});
  return result;
}

/// A slice of whole blocks, in the arrangement `like`; nothing if it is none.
std::optional<SlicePlan> plan_in_blocks(const Layout& like, const TensorType& whole_type, const TensorType& part_type,
                                        const Bounds& bounds, bool into_whole) {
  Layout whole, part;
  if (like.is_plain() || !same_arrangement(like, whole_type, whole) || !same_arrangement(like, part_type, part))
    return {};
  const BlockedDims outer = blocked_dims(like, whole_type), inner = blocked_dims(like, part_type);
  const std::optional<Bounds> blocks = bounds_of_blocks(bounds, whole_type.shape[1], inner);
  if (!blocks) return {};
  return plan_of(whole, part, *blocks, outer.strides, inner.dims, inner.strides, into_whole);
}

SlicePlan plan_slice(const Attributes& attrs, const TensorType& whole, const TensorType& part, const Layout& present,
                     bool into_whole) {
  const Bounds bounds = slice_bounds(attrs, whole.shape);
  if (auto plan = plan_in_blocks(present, whole, part, bounds, into_whole)) return *plan;
  return plan_row_major(whole, part, bounds, into_whole);
}

bool declines_empty(const Node& node, std::string& declined) {
  if (has_empty_operand(node)) declined = "an operand is empty";
  return !declined.empty();
}

/// The channels of an activation in blocks are cut, and nothing else.
bool cuts_channels_alone(const Bounds& bounds, const Layout& whole) {
  for (int d = 0; d < whole.shape().rank(); ++d) {
    const SliceBounds& bound = bounds[static_cast<size_t>(d)];
    if (d != 1 && (bound.step != 1 || bound.length != whole.shape()[d])) return false;
  }
  return ChannelMoves::possible(whole);
}

/// Channels between the borders of blocks.
std::unique_ptr<Kernel> make_channel_slice(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  const Layout& from = request.inputs[0];
  if (declines_empty(node, declined)) return nullptr;
  const Bounds bounds = slice_bounds(node.attrs(), from.shape());
  Layout to;
  if (!cuts_channels_alone(bounds, from) || !same_arrangement(from, node.output()->type(), to)) {
    declined = "not of channels in blocks alone";
    return nullptr;
  }
  std::vector<ChannelSource> sources;
  for (int64_t c = 0; c < bounds[1].length; ++c) sources.push_back({0, bounds[1].start + c * bounds[1].step});
  auto kernel = std::make_unique<FunctionKernel>(
      [moves = ChannelMoves({from}, {to}, {sources})](const KernelArguments& arguments) {
        moves.run(arguments.inputs, arguments.outputs, arguments.threads);
      });
  kernel->name = "native slice of channels";
  kernel->inputs = {from};
  kernel->outputs = {to};
  return kernel;
}

std::unique_ptr<Kernel> make_slice(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (declines_empty(node, declined)) return nullptr;
  const SlicePlan plan =
      plan_slice(node.attrs(), node.input(0)->type(), node.output()->type(), request.inputs[0], false);
  auto kernel = std::make_unique<FunctionKernel>([plan](const KernelArguments& arguments) {
    plan.copy.run(static_cast<const char*>(arguments.inputs[0]) + plan.offset, static_cast<char*>(arguments.outputs[0]),
                  arguments.threads);
  });
  kernel->name = "native slice";
  kernel->inputs = {plan.whole};
  kernel->outputs = {plan.part};
  return kernel;
}

std::unique_ptr<Kernel> make_slice_grad(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (declines_empty(node, declined)) return nullptr;
  const SlicePlan plan =
      plan_slice(node.attrs(), node.output()->type(), node.input(0)->type(), request.inputs[0], true);
  auto kernel = std::make_unique<FunctionKernel>([plan](const KernelArguments& arguments) {
    parallel_zero(arguments.outputs[0], plan.whole.bytes(), arguments.threads);
    plan.copy.run(static_cast<const char*>(arguments.inputs[0]), static_cast<char*>(arguments.outputs[0]) + plan.offset,
                  arguments.threads);
  });
  kernel->name = "native slice_grad";
  kernel->inputs = request.inputs;  // input 1 gives a shape only
  kernel->inputs[0] = plan.part;
  kernel->outputs = {plan.whole};
  return kernel;
}

const RegisterKernel kSlice(op::kSlice, "native", KernelPriority::kNative, make_slice);
const RegisterKernel kChannelSlice(op::kSlice, "channels", KernelPriority::kSpecial, make_channel_slice);
const RegisterKernel kSliceGrad(op::kSliceGrad, "native", KernelPriority::kNative, make_slice_grad);

}  // namespace
}  // namespace thalweg
