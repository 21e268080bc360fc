// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Layers that move elements: Concat, Slice, Split, Flatten, Reshape, Permute, Tile, Crop; and Parameter.
#include <algorithm>
#include <numeric>

#include "formats/caffe/layer_context.h"
#include "thalweg/ops.h"

namespace thalweg::caffe {
namespace {

/// `axis`, or under the name that it had at first.
int axis_of(const LayerContext& context, const Fields& fields, const std::string& old_name, int rank) {
  const bool has_old = fields.has(old_name);
  context.require(!has_old || !fields.has("axis"), "has axis and ", old_name, ": one of them only");
  return context.axis(fields, has_old ? old_name : "axis", 1, rank);
}

std::vector<Value*> convert_concat(LayerContext& context) {
  context.require_counts(-1);
  const Fields& fields = context.fields("concat_param");
  const int axis = axis_of(context, fields, "concat_dim", context.bottom()->shape().rank());
  if (context.bottoms().size() == 1) return {context.bottom()};
  return {ops::concat(context.bottoms(), axis)};
}

/// Where the parts end; equal parts if the file does not say.
std::vector<int64_t> part_sizes(const LayerContext& context, const Fields& fields, int64_t whole) {
  const auto parts = static_cast<int64_t>(context.num_tops());
  const std::vector<int64_t> points = fields.integers("slice_point");
  if (points.empty()) {
    context.require(whole % parts == 0, whole, " elements do not divide into ", parts, " equal parts");
    return std::vector<int64_t>(context.num_tops(), whole / parts);
  }
  context.require(points.size() + 1 == context.num_tops(), "has ", points.size(), " slice_point for ", parts, " tops");
  std::vector<int64_t> sizes;
  int64_t before = 0;
  for (size_t i = 0; i <= points.size(); ++i) {
    const int64_t end = i < points.size() ? points[i] : whole;
    context.require(end > before, "slice points must grow, and be less than ", whole);
    sizes.push_back(end - before);
    before = end;
  }
  return sizes;
}

std::vector<Value*> convert_slice(LayerContext& context) {
  context.require_counts(1, -1);
  const Fields& fields = context.fields("slice_param");
  Value* x = context.bottom();
  const int axis = axis_of(context, fields, "slice_dim", x->shape().rank());
  if (context.num_tops() == 1) return {x};
  context.require(x->shape()[axis] != kFree, "reads ", x->shape(), ", whose dimension ", axis, " must be known");
  return ops::split(x, part_sizes(context, fields, x->shape()[axis]), axis);
}

std::vector<Value*> convert_split(LayerContext& context) {
  context.require_counts(1, -1);
  return std::vector<Value*>(context.num_tops(), context.bottom());
}

/// What ops::reshape takes: 0 where a dimension stays in its place, its size where it moves. At most one of those that
/// move may be free, and only if `asked` has no -1 yet.
std::vector<int64_t> reshape_dims(const LayerContext& context, const std::vector<int64_t>& sources,
                                  std::vector<int64_t> asked) {
  const Shape& x = context.bottom()->shape();
  for (size_t i = 0; i < asked.size(); ++i) {
    if (sources[i] < 0 || sources[i] == static_cast<int64_t>(i)) continue;
    asked[i] = x[static_cast<int>(sources[i])];
  }
  context.require(std::count(asked.begin(), asked.end(), -1) <= 1, "needs to know more of the sizes of what it reads, ",
                  x);
  return asked;
}

std::vector<Value*> convert_flatten(LayerContext& context) {
  context.require_counts(1);
  const Fields& fields = context.fields("flatten_param");
  const Shape& x = context.bottom()->shape();
  const int first = context.axis(fields, "axis", 1, x.rank()), last = context.axis(fields, "end_axis", -1, x.rank());
  context.require(first <= last + 1, "flattens dimensions from ", first, " to ", last);
  if (first == last) return {context.bottom()};
  std::vector<int64_t> dims, sources;
  for (int d = 0; d < first; ++d) {
    dims.push_back(0);
    sources.push_back(d);
  }
  dims.push_back(-1);
  sources.push_back(-1);
  for (int d = last + 1; d < x.rank(); ++d) {
    dims.push_back(0);
    sources.push_back(d);
  }
  return {ops::reshape(context.bottom(), reshape_dims(context, sources, dims))};
}

/// New dimensions in place of `num_axes` from `axis` on; 0 takes that which is there, -1 what is left.
std::vector<Value*> convert_reshape(LayerContext& context) {
  context.require_counts(1);
  const Fields& fields = context.fields("reshape_param");
  const Shape& x = context.bottom()->shape();
  const std::vector<int64_t> wanted = fields.inner("shape").integers("dim", -1);
  const int64_t first_asked = fields.integer("axis", 0, -Fields::kMost);
  const int64_t first = first_asked < 0 ? x.rank() + first_asked + 1 : first_asked;
  const int64_t count_asked = fields.integer("num_axes", -1, -1);
  context.require(first >= 0 && first <= x.rank(), "axis is ", first_asked, ", but there are ", x.rank(),
                  " dimensions");
  const int64_t count = count_asked < 0 ? x.rank() - first : count_asked;
  context.require(first + count <= x.rank(), "num_axes is ", count, " from axis ", first, " of ", x);
  std::vector<int64_t> dims, sources;
  const auto keep = [&](int64_t d) {
    dims.push_back(0);
    sources.push_back(d);
  };
  for (int64_t d = 0; d < first; ++d) keep(d);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const int64_t source = first + static_cast<int64_t>(i);
    context.require(wanted[i] != 0 || source < first + count, "copies dimension ", source, ", which is not there");
    if (wanted[i] == 0) {
      keep(source);
    } else {
      dims.push_back(wanted[i]);
      sources.push_back(-1);
    }
  }
  for (int64_t d = first + count; d < x.rank(); ++d) keep(d);
  return {ops::reshape(context.bottom(), reshape_dims(context, sources, dims))};
}

/// Dimensions that are not named follow those that are.
std::vector<Value*> convert_permute(LayerContext& context) {
  context.require_counts(1);
  const Fields& fields = context.fields("permute_param");
  const int rank = context.bottom()->shape().rank();
  std::vector<int64_t> order = fields.integers("order");
  for (const int64_t axis : order) {
    context.require(axis < rank && std::count(order.begin(), order.end(), axis) == 1, "its order has ", axis, ", for ",
                    rank, " dimensions, each of which may stand there once");
  }
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (std::find(order.begin(), order.end(), axis) == order.end()) order.push_back(axis);
  }
  return {ops::transpose(context.bottom(), order)};
}

std::vector<Value*> convert_tile(LayerContext& context) {
  context.require_counts(1);
  const Fields& fields = context.fields("tile_param");
  const int rank = context.bottom()->shape().rank();
  std::vector<int64_t> repeats(static_cast<size_t>(rank), 1);
  const int axis = context.axis(fields, "axis", 1, rank);
  repeats[static_cast<size_t>(axis)] = fields.integer("tiles", 1, 1, 1 << 20);
  return {ops::tile(context.bottom(), repeats)};
}

/// Cuts the first bottom to the size of the second.
std::vector<Value*> convert_crop(LayerContext& context) {
  context.require_counts(2);
  const Fields& fields = context.fields("crop_param");
  Value *x = context.bottom(0), *like = context.bottom(1);
  const int rank = x->shape().rank(), first = context.axis(fields, "axis", 2, rank);
  context.require(like->shape().rank() == rank, "reads ", x->shape(), " and ", like->shape(),
                  ", which must have as many dimensions");
  std::vector<int64_t> offsets = fields.integers("offset");
  const auto count = static_cast<size_t>(rank - first);
  context.require(offsets.size() <= 1 || offsets.size() == count, "has ", offsets.size(), " offset for ", count,
                  " dimensions");
  if (offsets.size() != count) offsets.assign(count, offsets.empty() ? 0 : offsets[0]);
  const std::vector<int64_t> whole = known_extents(context, x, first), cut = known_extents(context, like, first);
  std::vector<int64_t> ends, axes;
  for (size_t i = 0; i < count; ++i) {
    axes.push_back(first + static_cast<int64_t>(i));
    ends.push_back(offsets[i] + cut[i]);
    context.require(ends[i] <= whole[i], "cuts ", cut[i], " elements from ", offsets[i], " on out of ", whole[i],
                    " of dimension ", axes[i]);
  }
  return {ops::slice(x, offsets, ends, axes)};
}

std::vector<Value*> convert_parameter(LayerContext& context) {
  context.require(context.bottoms().empty() && context.num_tops() == 1, "takes no bottom, and gives one top");
  const std::vector<int64_t> dims = context.fields("parameter_param").inner("shape").integers("dim", 1);
  return {context.weight(0, "weight", Shape(dims), nn::init::zeros())};
}

const RegisterLayers kLayers({
    {"Concat", convert_concat},
    {"Slice", convert_slice},
    {"Split", convert_split},
    {"Flatten", convert_flatten},
    {"Reshape", convert_reshape},
    {"Permute", convert_permute},
    {"Tile", convert_tile},
    {"Crop", convert_crop},
    {"Parameter", convert_parameter},
});

}  // namespace
}  // namespace thalweg::caffe
