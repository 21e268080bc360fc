// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Convolutions and pools.
#include <algorithm>

#include "formats/onnx/import_common.h"
#include "ops/ids.h"
#include "ops/window.h"
#include "thalweg/ops.h"

namespace thalweg::onnx {
namespace {

Value* conv(const NodeContext& context) {
  Value* x = context.input(0);
  Value* weight = context.input(1);
  context.require(weight->shape().rank() == x->shape().rank(), "the weight must have as many dimensions as the input");
  const WindowAttributes window = read_window(context, x->shape(), spatial_dims(weight->shape()));
  ops::ConvOptions options;
  options.strides = window.strides;
  options.pads = window.pads;
  options.dilations = window.dilations;
  options.groups = context.integer("group", 1);
  return ops::conv(x, weight, context.optional(2), options, context.name());
}

/// Pads and output padding that give the output size asked for: what is too large is padded away, what is missing added
/// at the end.
void fit_output(const NodeContext& context, const Shape& x, const std::vector<int64_t>& wanted,
                const WindowAttributes& window, ops::ConvTransposeOptions& options) {
  const size_t rank = window.kernel.size();
  context.require(wanted.size() >= rank, "output_shape has too few entries");
  const bool upper = context.text("auto_pad", "NOTSET") != "SAME_LOWER";
  for (const int64_t extent : wanted) {
    context.require(extent >= 0 && extent <= kMostElements, "output_shape cannot have ", extent);
  }
  for (size_t d = 0; d < rank; ++d) {
    const int64_t in = x[static_cast<int>(d) + 2];
    context.require(in != kFree, "output_shape needs known spatial sizes, not ", x);
    const int64_t reach = (window.kernel[d] - 1) * window.dilations[d] + 1;
    const int64_t total =
        (in - 1) * window.strides[d] + options.output_padding[d] + reach - wanted[wanted.size() - rank + d];
    options.output_padding[d] += std::max<int64_t>(0, -total);
    const int64_t cut = std::max<int64_t>(0, total);
    options.pads[d] = upper ? cut / 2 : cut - cut / 2;
    options.pads[rank + d] = cut - options.pads[d];
  }
}

Value* conv_transpose(const NodeContext& context) {
  Value* x = context.input(0);
  Value* weight = context.input(1);
  context.require(weight->shape().rank() == x->shape().rank(), "the weight must have as many dimensions as the input");
  const WindowAttributes window = read_window(context, x->shape(), spatial_dims(weight->shape()));
  ops::ConvTransposeOptions options;
  options.strides = window.strides;
  options.pads = window.pads;
  options.dilations = window.dilations;
  options.groups = context.integer("group", 1);
  const size_t rank = window.kernel.size();
  options.output_padding = context.integers("output_padding", std::vector<int64_t>(rank, 0));
  context.require(options.output_padding.size() == rank, "output_padding does not fit ", rank, " spatial dimensions");
  for (const int64_t extra : options.output_padding) {
    context.require(extra >= 0 && extra <= kMostWindow, "output_padding cannot have ", extra);
  }
  const std::string padding = context.text("auto_pad", "NOTSET");
  if (context.has_attribute("output_shape")) {
    fit_output(context, x->shape(), context.integers("output_shape"), window, options);
  } else if (padding == "SAME_UPPER" || padding == "SAME_LOWER") {
    std::vector<int64_t> wanted;
    for (size_t d = 0; d < rank; ++d) wanted.push_back(x->shape()[static_cast<int>(d) + 2] * window.strides[d]);
    fit_output(context, x->shape(), wanted, window, options);
  }
  // What reaches beyond the last window is bias alone; the engine adds less than a stride of it.
  std::vector<int64_t> beyond(static_cast<size_t>(2 * x->shape().rank()), 0);
  bool extends = false;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t excess = options.output_padding[d] - (options.strides[d] - 1);
    if (excess <= 0) continue;
    beyond[static_cast<size_t>(x->shape().rank()) + 2 + d] = excess;
    options.output_padding[d] -= excess;
    extends = true;
  }
  Value* bias = context.optional(2);
  if (!extends) return ops::conv_transpose(x, weight, bias, options, context.name());
  Value* y = ops::pad(ops::conv_transpose(x, weight, nullptr, options, context.name()), beyond);
  if (bias == nullptr) return y;
  std::vector<int64_t> channels(rank + 1, 1);
  channels[0] = -1;
  return ops::add(y, ops::reshape(bias, channels));
}

ops::PoolOptions pool_options(const NodeContext& context) {
  const WindowAttributes window = read_window(context, context.input(0)->shape());
  ops::PoolOptions options;
  options.kernel = window.kernel;
  options.strides = window.strides;
  options.pads = window.pads;
  options.dilations = window.dilations;
  options.ceil_mode = context.flag("ceil_mode", false);
  options.count_include_pad = context.flag("count_include_pad", false);
  return options;
}

/// Integers are pooled as f32, which holds every number of a byte.
Value* max_pool(const NodeContext& context) {
  Value* x = context.input(0);
  context.require(!context.wants(1), "the output of indices is not supported");
  if (is_floating(x->dtype())) return ops::max_pool(x, pool_options(context), context.name());
  context.require(size_of(x->dtype()) == 1, "element type ", name_of(x->dtype()), " is not supported");
  return ops::cast(ops::max_pool(ops::cast(x, DType::kF32), pool_options(context), context.name()), x->dtype());
}

Value* avg_pool(const NodeContext& context) {
  return ops::avg_pool(context.input(0), pool_options(context), context.name());
}

Value* power_of(Value* x, double p) {
  if (p == 1.0) return ops::abs(x);
  return p == 2.0 ? ops::square(x) : ops::pow(ops::abs(x), p);
}
Value* root_of(Value* x, double p) {
  if (p == 1.0) return x;
  return p == 2.0 ? ops::sqrt(x) : ops::pow(x, 1.0 / p);
}

/// The mean over the window times the size of the window is the sum of the powers.
Value* lp_pool(const NodeContext& context) {
  const auto p = static_cast<double>(context.integer("p", 2));
  ops::PoolOptions options = pool_options(context);
  options.count_include_pad = true;
  double count = 1;
  for (const int64_t extent : options.kernel) count *= static_cast<double>(extent);
  for (const int64_t dilation : options.dilations) context.require(dilation == 1, "dilation is not supported");
  context.require(!options.ceil_mode, "ceil_mode is not supported");
  return root_of(ops::mul(ops::avg_pool(power_of(context.input(0), p), options, context.name()), count), p);
}

std::vector<int64_t> spatial_axes(const Value* x) {
  std::vector<int64_t> axes;
  for (int d = 2; d < x->shape().rank(); ++d) axes.push_back(d);
  return axes;
}

Value* global_lp_pool(const NodeContext& context) {
  Value* x = context.input(0);
  const auto p = static_cast<double>(context.integer("p", 2));
  return root_of(ops::reduce_sum(power_of(x, p), spatial_axes(x), true), p);
}

const RegisterConverters kConverters({
    {"Conv", single(conv), op::kConv},
    {"ConvTranspose", single(conv_transpose), op::kConvTranspose},
    {"MaxPool", single(max_pool), op::kMaxPool},
    {"AveragePool", single(avg_pool)},
    {"LpPool", single(lp_pool)},
    {"GlobalAveragePool",
     single([](const NodeContext& context) { return ops::global_avg_pool(context.input(0), context.name()); })},
    {"GlobalMaxPool",
     single([](const NodeContext& context) { return ops::global_max_pool(context.input(0), context.name()); })},
    {"GlobalLpPool", single(global_lp_pool)},
});

}  // namespace
}  // namespace thalweg::onnx
