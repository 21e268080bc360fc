// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Pooling, SPP, ROIPooling, LRN.
#include "formats/caffe/layer_context.h"
#include "ops/ids_rare.h"
#include "thalweg/ops.h"

namespace thalweg::caffe {
namespace {

constexpr int64_t kMostWindow = 1 << 20;

/// Height and width: `prefix`_h and `prefix`_w, or one number for both.
std::vector<int64_t> height_and_width(const LayerContext& context, const Fields& fields, const std::string& both,
                                      const std::string& prefix, int64_t usual, int64_t low) {
  const bool apart = fields.has(prefix + "_h") || fields.has(prefix + "_w");
  context.require(!apart || !fields.has(both), "has ", both, " and ", prefix, "_h or ", prefix, "_w: one kind only");
  if (!apart) return std::vector<int64_t>(2, fields.integer(both, usual, low, kMostWindow));
  return {fields.integer(prefix + "_h", usual, low, kMostWindow),
          fields.integer(prefix + "_w", usual, low, kMostWindow)};
}

std::string pool_method(const LayerContext& context, const Fields& fields) {
  const std::string method = fields.choice("pool", "MAX", {"MAX", "AVE", "STOCHASTIC"});
  context.require(method != "STOCHASTIC", "stochastic pooling is not supported");
  return method;
}

/// Sizes are rounded up unless the layer says otherwise, in one of the two ways that there are.
bool rounds_up(const Fields& fields) {
  return fields.flag("ceil_mode", true) && fields.choice("round_mode", "CEIL", {"CEIL", "FLOOR"}) == "CEIL";
}

/// Without padding Caffe keeps windows that lie beyond the picture altogether, whose result means nothing.
void require_no_empty_window(const LayerContext& context, const ops::PoolOptions& options) {
  const Shape& shape = context.bottom()->shape();
  for (size_t d = 0; d < 2; ++d) {
    const int64_t in = shape[static_cast<int>(d) + 2], kernel = options.kernel[d], stride = options.strides[d];
    if (!options.ceil_mode || in == kFree || in < kernel || options.pads[0] > 0 || options.pads[1] > 0) continue;
    context.require((in - kernel + stride - 1) / stride * stride < in, "steps of ", stride, " with windows of ", kernel,
                    " over ", in, " elements leave a window outside");
  }
}

std::vector<Value*> convert_pooling(LayerContext& context) {
  context.require_counts(1);
  const Fields& fields = context.fields("pooling_param");
  Value* x = context.bottom();
  context.require(x->shape().rank() == 4, "reads ", x->shape(), ", and pools pictures [N, C, H, W]");
  const bool maximum = pool_method(context, fields) == "MAX";
  if (fields.flag("global_pooling", false)) {
    // Caffe asks for sizes that agree with the whole; they change nothing.
    fields.ignore({"kernel_size", "kernel_h", "kernel_w", "stride", "stride_h", "stride_w", "pad", "pad_h", "pad_w"});
    return {maximum ? ops::global_max_pool(x, context.name()) : ops::global_avg_pool(x, context.name())};
  }
  ops::PoolOptions options;
  options.kernel = height_and_width(context, fields, "kernel_size", "kernel", 0, 0);
  context.require(options.kernel[0] > 0 && options.kernel[1] > 0, "needs a kernel_size");
  options.strides = height_and_width(context, fields, "stride", "stride", 1, 1);
  options.pads = height_and_width(context, fields, "pad", "pad", 0, 0);
  options.ceil_mode = rounds_up(fields);
  require_no_empty_window(context, options);
  return {maximum ? ops::max_pool(x, options, context.name()) : ops::avg_pool(x, options, context.name())};
}

/// Pools into 1, 4, 16, ... windows, one level after the other.
std::vector<Value*> convert_spp(LayerContext& context) {
  context.require_counts(1);
  const Fields& fields = context.fields("spp_param");
  const int64_t levels = fields.integer("pyramid_height", 0, 0, 16);
  context.require(levels > 0, "needs a pyramid_height");
  const bool maximum = pool_method(context, fields) == "MAX";
  Value* x = context.bottom();
  context.require(x->shape().rank() == 4, "reads ", x->shape(), ", and pools pictures [N, C, H, W]");
  const std::vector<int64_t> extents = known_extents(context, x, 2);
  std::vector<Value*> parts;
  for (int64_t level = 0; level < levels; ++level) {
    const int64_t bins = int64_t{1} << level;
    ops::PoolOptions options;
    for (const int64_t extent : extents) {
      const int64_t window = (extent + bins - 1) / bins;
      options.kernel.push_back(window);
      options.pads.push_back((window * bins - extent + 1) / 2);
      context.require(options.pads.back() < window, "a picture of ", x->shape(), " is too small for ", bins, " bins");
    }
    options.strides = options.kernel;
    options.ceil_mode = true;
    parts.push_back(ops::flatten(maximum ? ops::max_pool(x, options) : ops::avg_pool(x, options)));
  }
  return {parts.size() == 1 ? parts[0] : ops::concat(parts, 1)};
}

std::vector<Value*> convert_roi_pooling(LayerContext& context) {
  context.require_counts(2);
  const Fields& fields = context.fields("roi_pooling_param");
  const std::vector<int64_t> bins{fields.integer("pooled_h", 0, 0, 1 << 12), fields.integer("pooled_w", 0, 0, 1 << 12)};
  context.require(bins[0] > 0 && bins[1] > 0, "needs a pooled_h and a pooled_w");
  const Attributes attrs{{"pooled_shape", bins}, {"spatial_scale", fields.real("spatial_scale", 1.0)}};
  return {
      context.graph().add(op::kMaxRoiPool, {context.bottom(0), context.bottom(1)}, attrs, context.name())->output()};
}

/// Over squares of each channel instead of over channels: (1 + alpha * mean of squares)^-beta.
Value* normalize_within_channel(Value* x, int64_t size, double alpha, double beta) {
  ops::PoolOptions options;
  options.kernel = {size, size};
  options.strides = {1, 1};
  options.pads = {(size - 1) / 2, (size - 1) / 2};
  Value* mean = ops::avg_pool(ops::square(x), options);
  return ops::mul(x, ops::pow(ops::add(ops::mul(mean, alpha), 1.0), -beta));
}

std::vector<Value*> convert_lrn(LayerContext& context) {
  context.require_counts(1);
  const Fields& fields = context.fields("lrn_param");
  const int64_t size = fields.integer("local_size", 5, 1, kMostWindow);
  context.require(size % 2 == 1, "local_size must be odd, and is ", size);
  const double alpha = fields.real("alpha", 1.0), beta = fields.real("beta", 0.75), k = fields.real("k", 1.0);
  const std::string region = fields.choice("norm_region", "ACROSS_CHANNELS", {"ACROSS_CHANNELS", "WITHIN_CHANNEL"});
  if (region == "ACROSS_CHANNELS") return {ops::lrn(context.bottom(), size, alpha, beta, k, context.name())};
  context.require(context.bottom()->shape().rank() == 4, "reads ", context.bottom()->shape(),
                  ", and normalises pictures [N, C, H, W]");
  return {normalize_within_channel(context.bottom(), size, alpha, beta)};
}

const RegisterLayers kLayers({
    {"Pooling", convert_pooling},
    {"SPP", convert_spp},
    {"ROIPooling", convert_roi_pooling},
    {"LRN", convert_lrn},
});

}  // namespace
}  // namespace thalweg::caffe
