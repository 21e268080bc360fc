// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Reading pictures at positions that lie between their elements: GridSample, AffineGrid, DeformConv.
#include "formats/onnx/import_common.h"
#include "ops/window.h"
#include "thalweg/ops.h"

namespace thalweg::onnx {
namespace {

/// Positions beyond this count as lying there: what is so far outside has no neighbours anyway.
constexpr double kFarAway = 1 << 30;

enum class Outside { kZeros, kBorder, kReflection };

/// Neighbours of positions along one dimension: which elements, and how much of each.
struct Tap {
  Value* index;   ///< i64 [N, P], within the dimension
  Value* weight;  ///< of the type of the positions, [N, P]
};

/// One dimension of what is read from.
struct Line {
  int64_t size;
  bool align_corners;
  Outside outside;

  /// Where a reflecting line ends: at the middles of its outermost elements, or at their edges.
  double low() const { return align_corners ? 0.0 : -0.5; }
  double high() const { return align_corners ? static_cast<double>(size - 1) : static_cast<double>(size) - 0.5; }
};

/// Thrown back and forth between the ends until it lies between them.
Value* reflected(const Line& line, Value* position) {
  const double span = line.high() - line.low();
  if (span <= 0) return ops::mul(position, 0.0);
  Value* distance = ops::abs(ops::sub(position, line.low()));
  Value* turns = ops::floor(ops::div(distance, span));
  Value* rest = ops::sub(distance, ops::mul(turns, span));
  Value* half = ops::mul(turns, 0.5);
  Value* is_even = ops::equal(ops::floor(half), half);
  return ops::where(is_even, ops::add(rest, line.low()), ops::rsub(line.high(), rest));
}

/// -1 to 1 as a position in elements; if `inside`, brought inside as the line wants it.
Value* position_on(const Line& line, Value* coordinate, bool inside) {
  const auto size = static_cast<double>(line.size);
  const double scale = line.align_corners ? (size - 1) / 2 : size / 2;
  Value* position = ops::add(ops::mul(coordinate, scale), (size - 1) / 2);
  if (inside && line.outside == Outside::kBorder) position = ops::clip(position, 0.0, size - 1);
  if (inside && line.outside == Outside::kReflection) position = reflected(line, position);
  return ops::clip(position, -kFarAway, kFarAway);
}

/// The element at a whole number, with weight 0 where nothing lies there.
Tap tap_at(const Line& line, Value* whole, Value* weight) {
  const auto last = static_cast<double>(line.size - 1);
  if (line.outside == Outside::kReflection) whole = reflected(line, whole);
  Value* inside = ops::clip(whole, 0.0, last);
  if (line.outside == Outside::kZeros) weight = ops::where(ops::equal(inside, whole), weight, zero_like(weight));
  return {ops::cast(inside, DType::kI64), weight};
}

std::vector<Tap> linear_taps(const Line& line, Value* position) {
  Value* left = ops::floor(position);
  Value* t = ops::sub(position, left);
  return {tap_at(line, left, ops::rsub(1.0, t)), tap_at(line, ops::add(left, 1.0), t)};
}

/// A polynomial, the highest power first.
Value* polynomial(Value* x, std::initializer_list<double> factors) {
  Value* sum = nullptr;
  for (const double factor : factors)
    sum = sum == nullptr ? ops::scalar_like(x, factor) : ops::add(ops::mul(sum, x), factor);
  return sum;
}

/// Keys' kernel with a = -0.75.
std::vector<Tap> cubic_taps(const Line& line, Value* position) {
  constexpr double a = -0.75;
  const auto near = [](Value* x) { return polynomial(x, {a + 2, -(a + 3), 0.0, 1.0}); };
  const auto far = [](Value* x) { return polynomial(x, {a, -5 * a, 8 * a, -4 * a}); };
  Value* left = ops::floor(position);
  Value* t = ops::sub(position, left);
  return {tap_at(line, ops::sub(left, 1.0), far(ops::add(t, 1.0))), tap_at(line, left, near(t)),
          tap_at(line, ops::add(left, 1.0), near(ops::rsub(1.0, t))),
          tap_at(line, ops::add(left, 2.0), far(ops::rsub(2.0, t)))};
}

std::vector<Tap> nearest_tap(const Line& line, Value* position) {
  return {tap_at(line, ops::round(position), ops::scalar_like(position, 1.0))};
}

/// What `x`, [N, C, ...], has at positions, with neighbours along each of its spatial dimensions: [N, C, P].
Value* gathered(Value* x, const std::vector<std::vector<Tap>>& taps, int64_t positions) {
  const Shape& shape = x->shape();
  const int64_t batch = shape[0], channels = shape[1], elements = shape.num_elements(2, shape.rank());
  Value* flat = ops::reshape(x, {batch, channels, elements});
  size_t combinations = 1;
  for (const auto& line : taps) combinations *= line.size();
  Value* sum = nullptr;
  for (size_t c = 0; c < combinations; ++c) {
    Value *index = nullptr, *weight = nullptr;
    size_t rest = c;
    for (size_t d = 0; d < taps.size(); ++d) {
      const Tap& tap = taps[d][rest % taps[d].size()];
      rest /= taps[d].size();
      const auto size = static_cast<double>(shape[static_cast<int>(d) + 2]);
      index = index == nullptr ? tap.index : ops::add(ops::mul(index, size), tap.index);
      weight = weight == nullptr ? tap.weight : ops::mul(weight, tap.weight);
    }
    index = ops::expand(ops::unsqueeze(ops::reshape(index, {batch, positions}), {1}), {batch, channels, positions});
    Value* part = ops::gather_elements(flat, index, 2);
    if (weight->shape().rank() > 0) weight = ops::unsqueeze(weight, {1});
    part = ops::mul(part, ops::cast(weight, x->dtype()));
    sum = sum == nullptr ? part : ops::add(sum, part);
  }
  return sum;
}

Outside outside_of(const NodeContext& context) {
  const std::string mode = context.text("padding_mode", "zeros");
  if (mode == "border") return Outside::kBorder;
  if (mode == "reflection") return Outside::kReflection;
  context.require(mode == "zeros", "unknown padding_mode '", mode, "'");
  return Outside::kZeros;
}

using Taps = std::vector<Tap> (*)(const Line&, Value*);

Taps taps_of(const NodeContext& context) {
  const std::string mode = context.text("mode", "linear");
  if (mode == "nearest") return nearest_tap;
  if (mode == "cubic" || mode == "bicubic") return cubic_taps;
  context.require(mode == "linear" || mode == "bilinear", "unknown mode '", mode, "'");
  return linear_taps;
}

/// The op of the graph reads pictures, but not by curves or in three dimensions: null then.
Value* sampled_whole(const NodeContext& context, Value* x, Value* grid) {
  const std::string mode = context.text("mode", "linear");
  const bool linear = mode == "linear" || mode == "bilinear";
  if (x->shape().rank() != 4 || (!linear && mode != "nearest") || !is_floating(x->dtype())) return nullptr;
  outside_of(context);  // which refuses what is unknown
  grid = ops::cast(grid, x->dtype() == DType::kF64 ? DType::kF64 : DType::kF32);
  return ops::grid_sample(
      x, grid,
      {linear ? "linear" : "nearest", context.text("padding_mode", "zeros"), context.flag("align_corners", false)},
      context.name());
}

Value* grid_sample(const NodeContext& context) {
  Value* x = context.input(0);
  Value* grid = context.input(1);
  if (Value* whole = sampled_whole(context, x, grid)) return whole;
  const Shape shape = static_shape(context, x), places = static_shape(context, grid);
  const int rank = shape.rank() - 2;
  context.require(rank >= 1 && rank <= 3 && places.rank() == rank + 2 && places[-1] == rank && places[0] == shape[0] &&
                      shape.num_elements() > 0 && places.num_elements() > 0,
                  "a picture of shape ", shape, " and a grid of shape ", places, " do not fit");
  const int64_t count = places.num_elements(1, rank + 1);
  // Positions in two-byte floats would miss the elements of large pictures.
  const DType wide = grid->dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  grid = ops::reshape(ops::cast(grid, wide), {shape[0], count, rank});
  // A cubic curve goes on outside: only the elements that it passes are looked for inside.
  const Taps taps_on = taps_of(context);
  std::vector<std::vector<Tap>> taps;
  for (int d = 0; d < rank; ++d) {
    const Line line{shape[d + 2], context.flag("align_corners", false), outside_of(context)};
    // The grid has the innermost dimension first.
    Value* coordinate = ops::slice(grid, {rank - 1 - d}, {rank - d}, {2});
    taps.push_back(
        taps_on(line, position_on(line, ops::reshape(coordinate, {shape[0], count}), taps_on != cubic_taps)));
  }
  std::vector<int64_t> out = places.dims();
  out.pop_back();
  out.insert(out.begin() + 1, shape[1]);
  return ops::reshape(gathered(x, taps, count), out);
}

/// The coordinates of each element of a picture, from -1 to 1 along each dimension, the innermost first, and a 1:
/// [elements, rank + 1].
Tensor base_grid(const std::vector<int64_t>& sizes, bool align_corners) {
  const auto rank = static_cast<int64_t>(sizes.size());
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  Tensor grid(DType::kF64, {count, rank + 1});
  for (int64_t i = 0; i < count; ++i) {
    double* row = grid.data<double>() + i * (rank + 1);
    int64_t rest = i;
    for (int64_t d = rank; d-- > 0;) {
      const int64_t size = sizes[static_cast<size_t>(d)];
      const auto place = static_cast<double>(rest % size), extent = static_cast<double>(size);
      rest /= size;
      row[rank - 1 - d] =
          align_corners ? (size > 1 ? 2 * place / (extent - 1) - 1 : 0.0) : (2 * place + 1) / extent - 1;
    }
    row[rank] = 1.0;
  }
  return grid;
}

Value* affine_grid(const NodeContext& context) {
  Value* theta = context.input(0);
  const std::vector<int64_t> size = context.content_integers(1);
  const auto rank = static_cast<int64_t>(size.size()) - 2;
  context.require(rank == 2 || rank == 3, "the size must be [N, C, H, W] or [N, C, D, H, W]");
  double elements = 1;
  for (const int64_t dim : size) {
    context.require(dim >= 1, "the size has dimension ", dim);
    elements *= static_cast<double>(dim);
  }
  context.require(elements < static_cast<double>(kMostElements), "a grid for ", elements, " elements");
  context.require(theta->shape() == Shape{size[0], rank, rank + 1}, "theta has shape ", theta->shape());
  const std::vector<int64_t> spatial(size.begin() + 2, size.end());
  Value* base = context.constant(base_grid(spatial, context.flag("align_corners", false)).to(theta->dtype()));
  Value* grid = ops::matmul(base, theta, false, true, context.name());
  std::vector<int64_t> dims = spatial;
  dims.insert(dims.begin(), size[0]);
  dims.push_back(rank);
  return ops::reshape(grid, dims);
}

/// Positions that a deformable convolution reads along dimension `d`: [N * groups, taps * outputs].
Value* deformed_positions(const WindowAttributes& window, const Shape& out, size_t d, Value* offsets) {
  const Shape& own = offsets->shape();  // [N * groups, taps, outputs]
  const size_t rank = window.kernel.size();
  int64_t inner_kernel = 1, inner_out = 1;
  for (size_t e = d + 1; e < rank; ++e) {
    inner_kernel *= window.kernel[e];
    inner_out *= out[static_cast<int>(e) + 2];
  }
  Tensor base(DType::kF64, {own[1], own[2]});
  for (int64_t k = 0; k < own[1]; ++k) {
    for (int64_t o = 0; o < own[2]; ++o) {
      const int64_t tap = k / inner_kernel % window.kernel[d];
      const int64_t place = o / inner_out % out[static_cast<int>(d) + 2];
      base.data<double>()[k * own[2] + o] =
          static_cast<double>(place * window.strides[d] - window.pads[d] + tap * window.dilations[d]);
    }
  }
  Value* position = ops::add(offsets, offsets->graph().constant(base.to(offsets->dtype())));
  return ops::clip(ops::reshape(position, {own[0], own[1] * own[2]}), -kFarAway, kFarAway);
}

/// The shape [N, O, ...] of the result.
Shape deformed_shape(const NodeContext& context, const WindowAttributes& window, const Shape& x, const Shape& weight) {
  std::vector<int64_t> out = {x[0], weight[0]};
  for (size_t d = 0; d < window.kernel.size(); ++d) {
    const int64_t reach = (window.kernel[d] - 1) * window.dilations[d] + 1;
    const int64_t room = x[static_cast<int>(d) + 2] + window.pads[d] + window.pads[window.kernel.size() + d] - reach;
    context.require(room >= 0, "the kernel is larger than dimension ", d + 2, " with its padding");
    out.push_back(room / window.strides[d] + 1);
  }
  return Shape(std::move(out));
}

/// A convolution whose every tap reads at an offset of its own: the elements read are the columns of a product.
Value* deform_conv(const NodeContext& context) {
  Value* x = context.input(0);
  Value* weight = context.input(1);
  Value* offset = context.input(2);
  const Shape shape = static_shape(context, x), kernel = static_shape(context, weight);
  context.require(kernel.rank() == shape.rank() && shape.rank() <= 5, "a weight of shape ", kernel, " for ", shape);
  const WindowAttributes window = read_window(context, shape, {kernel.begin() + 2, kernel.end()});
  const Shape out = deformed_shape(context, window, shape, kernel);
  const int64_t groups = context.integer("group", 1), shifted = context.integer("offset_group", 1);
  const auto rank = static_cast<int64_t>(window.kernel.size());
  const int64_t taps = kernel.num_elements(2, kernel.rank()), outputs = out.num_elements(2, out.rank());
  context.require(groups > 0 && shifted > 0 && shape[1] % shifted == 0 && kernel[1] * groups == shape[1] &&
                      kernel[0] % groups == 0 && shape.num_elements() > 0,
                  "channels of ", shape, " and ", kernel, " do not divide into ", groups, " and ", shifted, " groups");
  const int64_t batch = shape[0] * shifted;
  const int64_t offsets = Shape{batch, taps, rank, outputs}.num_elements();  // which throws if it cannot be counted
  context.require(static_shape(context, offset).num_elements() == offsets, "offsets of shape ", offset->shape(),
                  " do not fit a result of shape ", out);
  offset = ops::reshape(offset, {batch, taps, rank, outputs});
  std::vector<std::vector<Tap>> neighbours;
  for (size_t d = 0; d < window.kernel.size(); ++d) {
    const auto at = static_cast<int64_t>(d);
    Value* own = ops::squeeze(ops::slice(offset, {at}, {at + 1}, {2}), {2});
    const Line line{shape[static_cast<int>(d) + 2], true, Outside::kZeros};
    neighbours.push_back(linear_taps(line, deformed_positions(window, out, d, own)));
  }
  std::vector<int64_t> split = shape.dims();
  split[0] = batch;
  split[1] = shape[1] / shifted;
  Value* columns = gathered(ops::reshape(x, split), neighbours, taps * outputs);
  if (context.has(4)) {
    context.require(static_shape(context, context.input(4)).num_elements() == batch * taps * outputs,
                    "a mask of shape ", context.input(4)->shape(), " does not fit a result of shape ", out);
    columns = ops::mul(columns, ops::reshape(context.input(4), {batch, 1, taps * outputs}));
  }
  columns = ops::reshape(columns, {shape[0], groups, kernel[1] * taps, outputs});
  Value* matrix = ops::reshape(weight, {1, groups, kernel[0] / groups, kernel[1] * taps});
  Value* y = ops::reshape(ops::matmul(matrix, columns, false, false, context.name()), out.dims());
  if (!context.has(3)) return y;
  std::vector<int64_t> channels(static_cast<size_t>(rank + 1), 1);
  channels[0] = kernel[0];
  return ops::add(y, ops::reshape(context.input(3), channels));
}

const RegisterConverters kConverters({
    {"GridSample", single(grid_sample)},
    {"AffineGrid", single(affine_grid)},
    {"DeformConv", single(deform_conv)},
});

}  // namespace
}  // namespace thalweg::onnx
