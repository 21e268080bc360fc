// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Resize and Upsample. Every mode is linear and works on one dimension at a time: dimensions are resized by gathering
// elements or by a product with a matrix of weights; the usual cases run on the engine's own kernel.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "formats/onnx/import_common.h"
#include "formats/onnx/resize_weights.h"
#include "thalweg/ops.h"

namespace thalweg::onnx {
namespace {

/// Elements taken as they are, in the order given.
Value* gather_nearest(const NodeContext& context, Value* x, int axis, const std::vector<ResizeTaps>& taps) {
  std::vector<int64_t> indices;
  for (const ResizeTaps& one : taps) indices.push_back(one.outside ? 0 : one.weights[0].first);
  const auto count = static_cast<int64_t>(indices.size());
  return ops::gather(x, context.constant(Tensor::from<int64_t>({count}, indices)), axis);
}

Value* multiply_weights(const NodeContext& context, Value* x, int axis, int64_t in,
                        const std::vector<ResizeTaps>& taps) {
  const auto out = static_cast<int64_t>(taps.size());
  Tensor matrix = Tensor::zeros(DType::kF64, {out, in});
  for (int64_t row = 0; row < out; ++row) {
    for (const auto& [index, weight] : taps[static_cast<size_t>(row)].weights) {
      matrix.data<double>()[row * in + index] += weight;
    }
  }
  Value* weights = context.constant(matrix.to(x->dtype()));
  const int rank = x->shape().rank();
  if (axis == rank - 1 && rank >= 2) return ops::matmul(x, weights, false, true);
  if (axis == rank - 2) return ops::matmul(weights, x);
  std::vector<int64_t> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::swap(order[static_cast<size_t>(axis)], order.back());
  if (rank == 1) return ops::reshape(ops::matmul(ops::reshape(x, {1, in}), weights, false, true), {out});
  return ops::transpose(ops::matmul(ops::transpose(x, order), weights, false, true), order);
}

/// Puts `value` where the output lies beyond the input.
Value* extrapolate(const NodeContext& context, Value* x, int axis, const std::vector<ResizeTaps>& taps, double value) {
  if (std::none_of(taps.begin(), taps.end(), [](const ResizeTaps& one) { return one.outside; })) return x;
  std::vector<int64_t> along(static_cast<size_t>(x->shape().rank()), 1);
  along[static_cast<size_t>(axis)] = static_cast<int64_t>(taps.size());
  Tensor outside(DType::kBool, {static_cast<int64_t>(taps.size())});
  for (size_t i = 0; i < taps.size(); ++i) outside.data<bool>()[i] = taps[i].outside;
  return ops::where(ops::reshape(context.constant(outside), along), ops::scalar_like(x, value), x);
}

ResizeMode read_mode(const NodeContext& context) {
  ResizeMode mode;
  mode.interpolation = context.text("mode", "nearest");
  const bool old = context.opset() < 11;
  mode.coordinates = old ? "asymmetric" : context.text("coordinate_transformation_mode", "half_pixel");
  mode.nearest = old ? "floor" : context.text("nearest_mode", "round_prefer_floor");
  mode.cubic_coefficient = context.real("cubic_coeff_a", -0.75);
  mode.exclude_outside = context.flag("exclude_outside", false);
  mode.antialias = context.flag("antialias", false);
  return mode;
}

/// Where each operand is: opset 10 had no region of interest, Upsample had its scales as an attribute at first.
struct Operands {
  std::vector<double> scales;
  std::vector<int64_t> sizes;
  std::vector<double> roi;
};

std::vector<double> reals(const NodeContext& context, size_t index) {
  const Tensor values = context.content(index).to(DType::kF64);
  return {values.data<double>(), values.data<double>() + values.num_elements()};
}

Operands read_operands(const NodeContext& context) {
  Operands operands;
  if (context.has_attribute("scales")) {
    operands.scales = context.reals("scales");
  } else if (context.opset() < 11 || context.op_type() == "Upsample") {
    operands.scales = reals(context, 1);
  } else {
    if (context.has(1)) operands.roi = reals(context, 1);
    if (context.has(2)) operands.scales = reals(context, 2);
    if (context.has(3)) operands.sizes = context.content_integers(3);
  }
  return operands;
}

/// The computed number of elements of a dimension as an integer.
int64_t extent_of(const NodeContext& context, double extent) {
  context.require(extent >= 1 && extent <= static_cast<double>(std::numeric_limits<int32_t>::max()),
                  "a dimension would have ", extent, " elements");
  return static_cast<int64_t>(extent);
}

/// One scale for all dimensions, the least or the greatest of those asked for.
void keep_aspect_ratio(const NodeContext& context, std::vector<ResizeAxis*>& axes) {
  const std::string policy = context.text("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch") return;
  context.require(policy == "not_larger" || policy == "not_smaller", "unknown keep_aspect_ratio_policy '", policy, "'");
  double scale = axes[0]->scale;
  for (const ResizeAxis* axis : axes) {
    scale = policy == "not_larger" ? std::min(scale, axis->scale) : std::max(scale, axis->scale);
  }
  for (ResizeAxis* axis : axes) {
    axis->scale = scale;
    axis->out = extent_of(context, std::floor(scale * static_cast<double>(axis->in) + 0.5));
  }
}

std::vector<ResizeAxis> read_axes(const NodeContext& context, const Shape& shape) {
  const Operands operands = read_operands(context);
  std::vector<int64_t> places = context.integers("axes");
  if (places.empty()) {
    places.resize(static_cast<size_t>(shape.rank()));
    std::iota(places.begin(), places.end(), int64_t{0});
  }
  const bool sized = operands.scales.empty();
  context.require((sized ? operands.sizes.size() : operands.scales.size()) == places.size(),
                  "scales or sizes do not fit ", places.size(), " dimensions");
  std::vector<ResizeAxis> all;
  for (const int64_t dim : shape) all.push_back({dim, dim, 1.0, 0.0, 1.0});
  std::vector<ResizeAxis*> resized;
  for (size_t i = 0; i < places.size(); ++i) {
    ResizeAxis& axis = all[static_cast<size_t>(normal_axis(context, places[i], shape.rank()))];
    const auto in = static_cast<double>(axis.in);
    context.require(axis.in > 0, "an empty dimension cannot be resized");
    axis.out = extent_of(context, sized ? static_cast<double>(operands.sizes[i]) : std::floor(in * operands.scales[i]));
    axis.scale = sized ? static_cast<double>(axis.out) / in : operands.scales[i];
    if (operands.roi.size() == 2 * places.size()) {
      axis.roi_begin = operands.roi[i];
      axis.roi_end = operands.roi[places.size() + i];
    }
    resized.push_back(&axis);
  }
  if (sized) keep_aspect_ratio(context, resized);
  return all;
}

/// The engine resizes all spatial dimensions at once, if the scale is exactly the ratio of the sizes.
bool engine_can(const Shape& shape, const ResizeMode& mode, const std::vector<ResizeAxis>& axes, DType dtype) {
  if (shape.rank() < 3 || shape.rank() > 5 || !is_floating(dtype) || mode.antialias || mode.exclude_outside) {
    return false;
  }
  for (size_t d = 0; d < axes.size(); ++d) {
    const double whole = axes[d].scale * static_cast<double>(axes[d].in);
    if (d < 2 ? axes[d].scale != 1.0 : std::abs(whole - static_cast<double>(axes[d].out)) > 1e-6) return false;
  }
  if (mode.interpolation == "nearest") return mode.coordinates == "asymmetric" && mode.nearest == "floor";
  return mode.interpolation == "linear" &&
         (mode.coordinates == "half_pixel" || mode.coordinates == "asymmetric" || mode.coordinates == "align_corners");
}

Value* resize(const NodeContext& context) {
  Value* x = context.input(0);
  const Shape shape = static_shape(context, x);
  const ResizeMode mode = read_mode(context);
  const std::vector<ResizeAxis> axes = read_axes(context, shape);
  if (engine_can(shape, mode, axes, x->dtype())) {
    std::vector<int64_t> sizes;
    for (size_t d = 2; d < axes.size(); ++d) sizes.push_back(axes[d].out);
    return ops::interpolate(x, sizes, mode.interpolation, mode.coordinates, context.name());
  }
  const DType dtype = x->dtype();
  const bool nearest = mode.interpolation == "nearest";
  if (!nearest && dtype != DType::kF64) x = ops::cast(x, DType::kF32);
  for (int d = 0; d < shape.rank(); ++d) {
    const ResizeAxis& axis = axes[static_cast<size_t>(d)];
    const bool cropped = mode.coordinates == "tf_crop_and_resize" && (axis.roi_begin != 0 || axis.roi_end != 1);
    if (axis.out == axis.in && axis.scale == 1.0 && !cropped) continue;
    const std::vector<ResizeTaps> taps = resize_taps(axis, mode);
    x = nearest ? gather_nearest(context, x, d, taps) : multiply_weights(context, x, d, axis.in, taps);
    x = extrapolate(context, x, d, taps, context.real("extrapolation_value", 0.0));
  }
  return ops::cast(x, dtype);
}

const RegisterConverters kConverters({{"Resize", single(resize)}, {"Upsample", single(resize)}});

}  // namespace
}  // namespace thalweg::onnx
