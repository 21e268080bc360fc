// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// concat and split along one axis, and selections of channels, in the layout in which their operands lie, blocked ones
// included, so that joining channels costs no reorder.
#include "ops/ids.h"
#include "runtime/kernel.h"
#include "runtime/kernels/native/channel_form.h"
#include "runtime/kernels/native/channel_moves.h"
#include "runtime/kernels/native/strided_copy.h"

namespace thalweg {
namespace {

/// One part of a whole along an axis.
struct Part {
  StridedCopy copy;
  int64_t offset = 0;  ///< bytes into each run of the whole
};

Part make_part(const Layout& whole, const Layout& part, int axis, int64_t begin, bool into_whole) {
  AxisRuns runs;
  axis_runs(whole, axis, runs);
  const auto element = static_cast<int64_t>(size_of(whole.dtype()));
  const int64_t run = whole.shape()[axis] * runs.unit * element;
  const int64_t piece = part.shape()[axis] * runs.unit * element;
  const std::vector<int64_t> dims{runs.outer, piece / element};
  const std::vector<int64_t> whole_strides{run, element}, part_strides{piece, element};
  return {into_whole ? StridedCopy(dims, part_strides, whole_strides, element)
                     : StridedCopy(dims, whole_strides, part_strides, element),
          begin * runs.unit * element};
}

std::vector<Part> make_parts(const Layout& whole, const std::vector<Layout>& parts, int axis, bool into_whole) {
  std::vector<Part> result;
  int64_t begin = 0;
  for (const Layout& part : parts) {
    result.push_back(make_part(whole, part, axis, begin, into_whole));
    begin += part.shape()[axis];
  }
  return result;
}

/// How a whole and its parts lie.
struct PartLayouts {
  Layout whole;
  std::vector<Layout> parts;
  /// Channels are moved within and between blocks; otherwise contiguous pieces are copied.
  bool by_moves = false;
};

size_t bytes_of(const std::vector<Layout>& layouts) {
  size_t bytes = 0;
  for (const Layout& layout : layouts) bytes += layout.bytes();
  return bytes;
}

/// All of them arranged as `like`; false if that cannot be, or would be mostly padding.
bool arrange(const Layout& like, const TensorType& whole, const std::vector<Value*>& parts, int axis,
             PartLayouts& result) {
  AxisRuns runs;
  if (!same_arrangement(like, whole, result.whole)) return false;
  result.parts.clear();
  for (const Value* part : parts) {
    if (!same_arrangement(like, part->type(), result.parts.emplace_back())) return false;
  }
  if (bytes_of(result.parts) + result.whole.bytes() > 4 * Layout(whole).bytes()) return false;
  result.by_moves = axis == 1 && ChannelMoves::possible(result.whole);
  return result.by_moves || axis_runs(result.whole, axis, runs);
}

/// The layouts that need the fewest reorders: that of the first value which is not row-major and whose arrangement fits
/// all of them.
PartLayouts common_layouts(const std::vector<Layout>& present, const TensorType& whole,
                           const std::vector<Value*>& parts, int axis) {
  PartLayouts result;
  for (const Layout& like : present) {
    if (!like.is_plain() && arrange(like, whole, parts, axis, result)) return result;
  }
  arrange(Layout(whole), whole, parts, axis, result);
  return result;
}

int node_axis(const Node& node, int rank) {
  const int64_t axis = node.attrs().integer("axis");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

bool declines_empty(const Node& node, std::string& declined) {
  if (has_empty_operand(node)) declined = "an operand is empty";
  return !declined.empty();
}

std::unique_ptr<Kernel> moving_kernel(ChannelMoves moves) {
  return std::make_unique<FunctionKernel>([moves = std::move(moves)](const KernelArguments& arguments) {
    moves.run(arguments.inputs, arguments.outputs, arguments.threads);
  });
}

std::unique_ptr<Kernel> joining_kernel(const PartLayouts& layouts, int axis) {
  if (layouts.by_moves) {
    std::vector<ChannelSource> sources;
    for (size_t i = 0; i < layouts.parts.size(); ++i) {
      for (int64_t c = 0; c < layouts.parts[i].shape()[1]; ++c) sources.push_back({static_cast<int>(i), c});
    }
    return moving_kernel(ChannelMoves(layouts.parts, {layouts.whole}, {sources}));
  }
  return std::make_unique<FunctionKernel>(
      [copies = make_parts(layouts.whole, layouts.parts, axis, true)](const KernelArguments& arguments) {
        for (size_t i = 0; i < copies.size(); ++i) {
          copies[i].copy.run(static_cast<const char*>(arguments.inputs[i]),
                             static_cast<char*>(arguments.outputs[0]) + copies[i].offset, arguments.threads);
        }
      });
}

std::unique_ptr<Kernel> make_concat(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (declines_empty(node, declined)) return nullptr;
  const int axis = node_axis(node, node.output()->shape().rank());
  const PartLayouts layouts = common_layouts(request.inputs, node.output()->type(), node.inputs(), axis);
  std::unique_ptr<Kernel> kernel = joining_kernel(layouts, axis);
  kernel->name = "native concat";
  kernel->inputs = layouts.parts;
  kernel->outputs = {layouts.whole};
  return kernel;
}

std::unique_ptr<Kernel> parting_kernel(const PartLayouts& layouts, int axis) {
  if (layouts.by_moves) {
    std::vector<std::vector<ChannelSource>> sources;
    int64_t channel = 0;
    for (const Layout& part : layouts.parts) {
      sources.emplace_back();
      for (int64_t c = 0; c < part.shape()[1]; ++c) sources.back().push_back({0, channel++});
    }
    return moving_kernel(ChannelMoves({layouts.whole}, layouts.parts, sources));
  }
  return std::make_unique<FunctionKernel>(
      [copies = make_parts(layouts.whole, layouts.parts, axis, false)](const KernelArguments& arguments) {
        for (size_t i = 0; i < copies.size(); ++i) {
          if (arguments.outputs[i] == nullptr) continue;
          copies[i].copy.run(static_cast<const char*>(arguments.inputs[0]) + copies[i].offset,
                             static_cast<char*>(arguments.outputs[i]), arguments.threads);
        }
      });
}

std::unique_ptr<Kernel> make_split(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (declines_empty(node, declined)) return nullptr;
  const int axis = node_axis(node, node.input(0)->shape().rank());
  const PartLayouts layouts = common_layouts(request.inputs, node.input(0)->type(), node.outputs(), axis);
  std::unique_ptr<Kernel> kernel = parting_kernel(layouts, axis);
  kernel->name = "native split";
  kernel->inputs = {layouts.whole};
  kernel->outputs = layouts.parts;
  return kernel;
}

/// The channels that a node picks by numbers that are known; none if they are not, or do not exist.
std::vector<ChannelSource> picked_channels(const Value& indices, int64_t channels) {
  std::vector<ChannelSource> result;
  if (indices.kind() != Value::Kind::kConstant || indices.shape().rank() != 1) return result;
  const Tensor wide = indices.data().to(DType::kI64);
  for (int64_t i = 0; i < wide.num_elements(); ++i) {
    const int64_t given = wide.data<int64_t>()[i], channel = given < 0 ? given + channels : given;
    if (channel < 0 || channel >= channels) return {};
    result.push_back({0, channel});
  }
  return result;
}

/// Channels in another order, or some of them, of an activation in blocks.
std::unique_ptr<Kernel> make_selection(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  const Layout& from = request.inputs[0];
  Layout to;
  if (declines_empty(node, declined)) return nullptr;
  if (node_axis(node, from.shape().rank()) != 1 || !ChannelMoves::possible(from)) {
    declined = "not of channels in blocks";
    return nullptr;
  }
  const std::vector<ChannelSource> sources = picked_channels(*node.input(1), from.shape()[1]);
  if (sources.empty() || !same_arrangement(from, node.output()->type(), to)) {
    declined = "which channels is not known beforehand";
    return nullptr;
  }
  std::unique_ptr<Kernel> kernel = moving_kernel(ChannelMoves({from}, {to}, {sources}));
  kernel->name = "native channels";
  kernel->inputs = {from, request.inputs[1]};
  kernel->outputs = {to};
  kernel->unread = {1};
  return kernel;
}

const RegisterKernel kConcat(op::kConcat, "native", KernelPriority::kNative, make_concat);
const RegisterKernel kSplit(op::kSplit, "native", KernelPriority::kNative, make_split);
const RegisterKernel kSelection(op::kGather, "channels", KernelPriority::kSpecial, make_selection);

}  // namespace
}  // namespace thalweg
