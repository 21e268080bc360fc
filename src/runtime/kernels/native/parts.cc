// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// concat, split and slices along one axis: contiguous pieces are copied in the layout in which they lie, blocked ones
// included, so that joining channels costs no reorder.
#include "ops/ids.h"
#include "ops/slice_bounds.h"
#include "runtime/kernel.h"
#include "runtime/kernels/native/channel_form.h"
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

/// The layout of the whole, and of all parts, that needs the fewest reorders: that of the first value which is not
/// row-major and whose arrangement fits all of them.
Layout common_layout(const std::vector<Layout>& present, const TensorType& whole, const std::vector<Value*>& parts,
                     int axis, std::vector<Layout>& part_layouts) {
  for (const Layout& like : present) {
    if (like.is_plain()) continue;
    Layout result, part;
    bool fits = same_arrangement(like, whole, axis, result);
    part_layouts.clear();
    for (size_t i = 0; i < parts.size() && fits; ++i) {
      fits = same_arrangement(like, parts[i]->type(), axis, part);
      part_layouts.push_back(part);
    }
    if (fits) return result;
  }
  part_layouts.clear();
  for (const Value* part : parts) part_layouts.emplace_back(part->type());
  return Layout(whole);
}

int node_axis(const Node& node, int rank) {
  const int64_t axis = node.attrs().integer("axis");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

bool declines_empty(const Node& node, std::string& declined) {
  if (has_empty_operand(node)) declined = "an operand is empty";
  return !declined.empty();
}

std::unique_ptr<Kernel> make_concat(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (declines_empty(node, declined)) return nullptr;
  const int axis = node_axis(node, node.output()->shape().rank());
  std::vector<Layout> parts;
  const Layout whole = common_layout(request.inputs, node.output()->type(), node.inputs(), axis, parts);
  std::vector<Part> copies;
  int64_t begin = 0;
  for (const Layout& part : parts) {
    copies.push_back(make_part(whole, part, axis, begin, true));
    begin += part.shape()[axis];
  }
  auto kernel = std::make_unique<FunctionKernel>([copies](const KernelArguments& arguments) {
    for (size_t i = 0; i < copies.size(); ++i) {
      copies[i].copy.run(static_cast<const char*>(arguments.inputs[i]),
                         static_cast<char*>(arguments.outputs[0]) + copies[i].offset, arguments.threads);
    }
  });
  kernel->name = "native concat";
  kernel->inputs = parts;
  kernel->outputs = {whole};
  return kernel;
}

std::unique_ptr<Kernel> make_split(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (declines_empty(node, declined)) return nullptr;
  const int axis = node_axis(node, node.input(0)->shape().rank());
  std::vector<Layout> parts;
  const Layout whole = common_layout(request.inputs, node.input(0)->type(), node.outputs(), axis, parts);
  std::vector<Part> copies;
  int64_t begin = 0;
  for (const Layout& part : parts) {
    copies.push_back(make_part(whole, part, axis, begin, false));
    begin += part.shape()[axis];
  }
  auto kernel = std::make_unique<FunctionKernel>([copies](const KernelArguments& arguments) {
    for (size_t i = 0; i < copies.size(); ++i) {
      if (arguments.outputs[i] == nullptr) continue;
      copies[i].copy.run(static_cast<const char*>(arguments.inputs[0]) + copies[i].offset,
                         static_cast<char*>(arguments.outputs[i]), arguments.threads);
    }
  });
  kernel->name = "native split";
  kernel->inputs = {whole};
  kernel->outputs = parts;
  return kernel;
}

/// The only axis that a slice cuts, if it does so in steps of one; -1 otherwise.
int single_axis(const std::vector<SliceBounds>& bounds, const Shape& whole) {
  int axis = -1;
  for (int d = 0; d < whole.rank(); ++d) {
    const SliceBounds& bound = bounds[static_cast<size_t>(d)];
    if (bound.step == 1 && bound.start == 0 && bound.length == whole[d]) continue;
    if (axis >= 0 || bound.step != 1) return -1;
    axis = d;
  }
  return axis < 0 ? 0 : axis;
}

/// How a slice reads, or its gradient writes: layouts of both sides, and the copy between them.
struct SlicePlan {
  Layout whole, part;
  StridedCopy copy;
  int64_t offset = 0;
};

SlicePlan plan_general(const TensorType& whole, const TensorType& part, const std::vector<SliceBounds>& bounds,
                       bool into_whole) {
  SlicePlan plan{Layout(whole), Layout(part), {}, 0};
  const auto element = static_cast<int64_t>(size_of(whole.dtype));
  std::vector<int64_t> outer = whole.shape.strides(), inner = part.shape.strides();
  for (size_t d = 0; d < outer.size(); ++d) {
    plan.offset += bounds[d].start * outer[d] * element;
    outer[d] *= bounds[d].step * element;
    inner[d] *= element;
  }
  plan.copy = into_whole ? StridedCopy(part.shape.dims(), inner, outer, element)
                         : StridedCopy(part.shape.dims(), outer, inner, element);
  return plan;
}

SlicePlan plan_slice(const Attributes& attrs, const TensorType& whole, Value* part, const Layout& present,
                     bool into_whole) {
  const auto bounds = slice_bounds(attrs, whole.shape);
  const int axis = single_axis(bounds, whole.shape);
  if (axis < 0) return plan_general(whole, part->type(), bounds, into_whole);
  const int64_t begin = bounds[static_cast<size_t>(axis)].start;
  AxisRuns runs;
  std::vector<Layout> parts;
  Layout layout(whole);
  // A blocked layout can be cut between blocks only.
  const bool cut_fits = axis_runs(present, axis, runs) && begin % runs.step == 0;
  if (cut_fits) layout = common_layout({present}, whole, {part}, axis, parts);
  if (!cut_fits) parts = {Layout(part->type())};
  const Part copy = make_part(layout, parts[0], axis, begin, into_whole);
  return {layout, parts[0], copy.copy, copy.offset};
}

std::unique_ptr<Kernel> make_slice(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (declines_empty(node, declined)) return nullptr;
  const SlicePlan plan = plan_slice(node.attrs(), node.input(0)->type(), node.output(), request.inputs[0], false);
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
  const SlicePlan plan = plan_slice(node.attrs(), node.output()->type(), node.input(0), request.inputs[0], true);
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

const RegisterKernel kConcat(op::kConcat, "native", KernelPriority::kNative, make_concat);
const RegisterKernel kSplit(op::kSplit, "native", KernelPriority::kNative, make_split);
const RegisterKernel kSlice(op::kSlice, "native", KernelPriority::kNative, make_slice);
const RegisterKernel kSliceGrad(op::kSliceGrad, "native", KernelPriority::kNative, make_slice_grad);

}  // namespace
}  // namespace thalweg
