// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Operators that see or move elements without computing.
#include <algorithm>
#include <limits>
#include <numeric>

#include "formats/onnx/import_common.h"
#include "ops/ids.h"
#include "ops/window.h"
#include "thalweg/ops.h"

namespace thalweg::onnx {
namespace {

Value* reshape(const NodeContext& context) {
  std::vector<int64_t> shape = context.opset() < 5 ? context.integers("shape") : context.content_integers(1);
  Value* x = context.input(0);
  const bool zero_is_zero = context.flag("allowzero", false);
  if (!zero_is_zero) return ops::reshape(x, shape);
  if (std::find(shape.begin(), shape.end(), 0) == shape.end()) return ops::reshape(x, shape);
  context.require(std::find(shape.begin(), shape.end(), -1) == shape.end(), "a shape with 0 cannot have -1 as well");
  return context.graph().add(op::kReshape, {x}, {{"shape", shape}, {"allow_zero", int64_t{1}}})->output();
}

Value* flatten(const NodeContext& context) {
  Value* x = context.input(0);
  const int64_t rank = x->shape().rank();
  int64_t axis = context.integer("axis", 1);
  if (axis < 0) axis += rank;
  context.require(axis >= 0 && axis <= rank, "axis ", context.integer("axis", 1), " does not exist");
  if (axis == 0) return ops::reshape(x, {1, -1});
  if (axis == rank && x->shape().is_static()) return ops::reshape(x, {x->shape().num_elements(), 1});
  return ops::flatten(x, axis);
}

/// An attribute before opset 13, an input since.
std::vector<int64_t> given_axes(const NodeContext& context) {
  if (context.opset() < 13) return context.integers("axes");
  return context.has(1) ? context.content_integers(1) : std::vector<int64_t>();
}

Value* squeeze(const NodeContext& context) {
  Value* x = context.input(0);
  std::vector<int64_t> axes = given_axes(context);
  if (axes.empty()) {
    for (int d = 0; d < x->shape().rank(); ++d) {
      if (x->shape()[d] == 1) axes.push_back(d);
    }
  }
  return axes.empty() ? x : ops::squeeze(x, axes);
}

Value* unsqueeze(const NodeContext& context) {
  const std::vector<int64_t> axes = given_axes(context);
  return axes.empty() ? context.input(0) : ops::unsqueeze(context.input(0), axes);
}

Value* transpose(const NodeContext& context) { return ops::transpose(context.input(0), context.integers("perm")); }

Value* concat(const NodeContext& context) {
  const std::vector<Value*> parts = context.inputs();
  return ops::concat(
      parts, normal_axis(context, context.integer("axis", context.opset() < 4 ? 1 : 0), parts[0]->shape().rank()));
}

constexpr int64_t kMostParts = 1 << 16;

std::vector<int64_t> split_sizes(const NodeContext& context, int64_t whole) {
  if (context.opset() < 13 && context.has_attribute("split")) return context.integers("split");
  if (context.opset() >= 13 && context.has(1)) return context.content_integers(1);
  const int64_t parts = context.integer("num_outputs", static_cast<int64_t>(context.num_outputs()));
  context.require(whole != kFree, "the size of the dimension to split must be known");
  context.require(parts > 0 && parts <= kMostParts, "cannot split into ", parts, " parts");
  // All alike, but for a smaller last one.
  const int64_t each = (whole + parts - 1) / parts;
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < parts; ++i) sizes.push_back(std::clamp<int64_t>(whole - i * each, 0, each));
  return sizes;
}

std::vector<Value*> split(const NodeContext& context) {
  Value* x = context.input(0);
  const int64_t axis = normal_axis(context, context.integer("axis", 0), x->shape().rank());
  return ops::split(x, split_sizes(context, x->shape()[static_cast<int>(axis)]), axis);
}

Value* slice(const NodeContext& context) {
  Value* x = context.input(0);
  const bool attributes = context.opset() < 10;
  const std::vector<int64_t> starts = attributes ? context.integers("starts") : context.content_integers(1);
  const std::vector<int64_t> ends = attributes ? context.integers("ends") : context.content_integers(2);
  std::vector<int64_t> axes, steps;
  if (attributes) {
    axes = context.integers("axes");
  } else {
    if (context.has(3)) axes = context.content_integers(3);
    if (context.has(4)) steps = context.content_integers(4);
  }
  if (axes.empty()) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), int64_t{0});
  }
  return axes.empty() ? x : ops::slice(x, starts, ends, axes, steps);
}

/// Begins, then ends, of every dimension, from those of the dimensions that the node names.
std::vector<int64_t> all_pads(const NodeContext& context, int64_t rank) {
  std::vector<int64_t> pads = context.opset() < 2    ? context.integers("paddings")
                              : context.opset() < 11 ? context.integers("pads")
                                                     : context.content_integers(1);
  if (context.opset() < 18 || !context.has(3)) return pads;
  const std::vector<int64_t> axes = context.content_integers(3);
  context.require(pads.size() == 2 * axes.size(), "there are ", pads.size(), " pads for ", axes.size(), " axes");
  std::vector<int64_t> result(static_cast<size_t>(2 * rank), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = normal_axis(context, axes[i], rank);
    result[static_cast<size_t>(axis)] = pads[i];
    result[static_cast<size_t>(axis + rank)] = pads[axes.size() + i];
  }
  return result;
}

/// Continues with the elements from the other end: the pieces are joined.
Value* pad_wrapped(const NodeContext& context, Value* x, const std::vector<int64_t>& pads) {
  const int rank = x->shape().rank();
  context.require(static_cast<int>(pads.size()) == 2 * rank, "there are ", pads.size(), " pads for ", rank,
                  " dimensions; begins, then ends are needed");
  for (int d = 0; d < rank; ++d) {
    const int64_t before = pads[static_cast<size_t>(d)], after = pads[static_cast<size_t>(d + rank)];
    const int64_t size = x->shape()[d];
    context.require(before >= 0 && after >= 0 && before <= size && after <= size,
                    "mode wrap needs pads between 0 and the size of the dimension");
    std::vector<Value*> parts;
    if (before > 0) parts.push_back(ops::slice(x, {size - before}, {size}, {d}));
    parts.push_back(x);
    if (after > 0) parts.push_back(ops::slice(x, {0}, {after}, {d}));
    if (parts.size() > 1) x = ops::concat(parts, d);
  }
  return x;
}

Value* pad(const NodeContext& context) {
  Value* x = context.input(0);
  const std::vector<int64_t> pads = all_pads(context, x->shape().rank());
  const std::string mode = context.text("mode", "constant");
  double value = context.real("value", 0.0);
  if (context.opset() >= 11 && context.has(2)) value = context.content_number(2);
  if (mode == "wrap") return pad_wrapped(context, x, pads);
  return ops::pad(x, pads, mode, mode == "constant" ? value : 0.0);
}

Value* expand(const NodeContext& context) {
  // Both sides broadcast: dimensions of the shape that are 1 keep what the input has.
  std::vector<int64_t> shape = context.content_integers(1);
  Value* x = context.input(0);
  const auto rank = static_cast<size_t>(x->shape().rank());
  if (shape.size() < rank) shape.insert(shape.begin(), rank - shape.size(), 1);
  for (size_t i = 0; i < rank; ++i) {
    int64_t& dim = shape[shape.size() - rank + i];
    if (dim == 1) dim = x->shape()[static_cast<int>(i)];
  }
  context.require(std::find(shape.begin(), shape.end(), 0) == shape.end(), "the result would be empty");
  return ops::expand(x, shape);
}

/// Before opset 6 one axis was repeated.
Value* tile(const NodeContext& context) {
  if (context.opset() < 6) {
    const int rank = context.input(0)->shape().rank();
    std::vector<int64_t> times(static_cast<size_t>(rank), 1);
    times[static_cast<size_t>(normal_axis(context, context.content_integer(2), rank))] = context.content_integer(1);
    return ops::tile(context.input(0), times);
  }
  return ops::tile(context.input(0), context.content_integers(1));
}

int64_t block_size(const NodeContext& context) {
  const int64_t block = context.integer("blocksize", 0);
  context.require(block > 0 && block <= kMostWindow, "blocks of ", block, " by ", block, " are impossible");
  return block;
}

/// [N, C, H, W] by blocks, in the order in which the pieces lie.
Value* depth_to_space(const NodeContext& context) {
  Value* x = context.input(0);
  const Shape shape = static_shape(context, x);
  context.require(shape.rank() == 4, "the input must have 4 dimensions, not ", shape);
  const int64_t block = block_size(context);
  context.require(shape[1] % (block * block) == 0, shape[1], " channels do not divide into blocks of ", block, " by ",
                  block);
  const int64_t depth = shape[1] / (block * block);
  const bool column = context.text("mode", "DCR") == "CRD";
  Value* pieces = column ? ops::reshape(x, {shape[0], depth, block, block, shape[2], shape[3]})
                         : ops::reshape(x, {shape[0], block, block, depth, shape[2], shape[3]});
  pieces =
      ops::transpose(pieces, column ? std::vector<int64_t>{0, 1, 4, 2, 5, 3} : std::vector<int64_t>{0, 3, 4, 1, 5, 2});
  return ops::reshape(pieces, {shape[0], depth, shape[2] * block, shape[3] * block});
}

Value* space_to_depth(const NodeContext& context) {
  Value* x = context.input(0);
  const Shape shape = static_shape(context, x);
  context.require(shape.rank() == 4, "the input must have 4 dimensions, not ", shape);
  const int64_t block = block_size(context);
  context.require(shape[2] > 0 && shape[3] > 0 && shape[2] % block == 0 && shape[3] % block == 0, "pictures of ",
                  shape[2], " by ", shape[3], " do not divide into blocks of ", block, " by ", block);
  const int64_t height = shape[2] / block, width = shape[3] / block;
  Value* pieces = ops::reshape(x, {shape[0], shape[1], height, block, width, block});
  const bool column = context.text("mode", "DCR") == "CRD";
  pieces =
      ops::transpose(pieces, column ? std::vector<int64_t>{0, 1, 3, 5, 2, 4} : std::vector<int64_t>{0, 3, 5, 1, 2, 4});
  return ops::reshape(pieces, {shape[0], shape[1] * block * block, height, width});
}

/// Cuts or pads each of the axes to the size asked for, both around the middle.
Value* center_crop_pad(const NodeContext& context) {
  Value* x = context.input(0);
  const Shape shape = static_shape(context, x);
  const std::vector<int64_t> target = context.content_integers(1);
  std::vector<int64_t> axes = context.integers("axes");
  if (axes.empty()) {
    axes.resize(static_cast<size_t>(shape.rank()));
    std::iota(axes.begin(), axes.end(), int64_t{0});
  }
  context.require(axes.size() == target.size(), "there are ", target.size(), " sizes for ", axes.size(), " axes");
  std::vector<int64_t> pads(static_cast<size_t>(2 * shape.rank()), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = normal_axis(context, axes[i], shape.rank());
    const int64_t size = shape[static_cast<int>(axis)];
    context.require(target[i] >= 0, "dimension ", axis, " would have size ", target[i]);
    if (target[i] < size) {
      const int64_t start = (size - target[i]) / 2;
      x = ops::slice(x, {start}, {start + target[i]}, {axis});
    } else {
      const int64_t before = (target[i] - size) / 2;
      pads[static_cast<size_t>(axis)] = before;
      pads[static_cast<size_t>(axis + shape.rank())] = target[i] - size - before;
    }
  }
  return ops::pad(x, pads);
}

const RegisterConverters kConverters({
    {"Reshape", single(reshape), op::kReshape},
    {"Flatten", single(flatten), op::kReshape},
    {"Squeeze", single(squeeze), op::kSqueeze},
    {"Unsqueeze", single(unsqueeze), op::kUnsqueeze},
    {"Transpose", single(transpose), op::kTranspose},
    {"Concat", single(concat), op::kConcat},
    {"Split", split},
    {"Slice", single(slice), op::kSlice},
    {"Pad", single(pad)},
    {"Expand", single(expand)},
    {"Tile", single(tile)},
    {"DepthToSpace", single(depth_to_space)},
    {"SpaceToDepth", single(space_to_depth)},
    {"CenterCropPad", single(center_crop_pad)},
});

}  // namespace
}  // namespace thalweg::onnx
