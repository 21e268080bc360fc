// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Convolution, Deconvolution, InnerProduct, Embed.
#include "formats/caffe/layer_context.h"
#include "thalweg/ops.h"

namespace thalweg::caffe {
namespace {

/// Numbers for each spatial dimension: `field`, once for all or once for each, or `field`_h and `field`_w.
std::vector<int64_t> spatial(const LayerContext& context, const Fields& fields, const std::string& field,
                             const std::string& prefix, size_t rank, int64_t usual, int64_t low) {
  constexpr int64_t kMost = 1 << 20;
  std::vector<int64_t> given = fields.integers(field, low, kMost);
  const bool apart = fields.has(prefix + "_h") || fields.has(prefix + "_w");
  if (apart) {
    context.require(given.empty() && rank == 2, "has ", field, " and ", prefix, "_h or ", prefix,
                    "_w, which are for two spatial dimensions: one kind only");
    return {fields.integer(prefix + "_h", usual, low, kMost), fields.integer(prefix + "_w", usual, low, kMost)};
  }
  if (given.empty()) given.assign(1, usual);
  context.require(given.size() == 1 || given.size() == rank, "has ", given.size(), " numbers ", field, " for ", rank,
                  " spatial dimensions");
  if (given.size() == 1) given.resize(rank, given[0]);
  return given;
}

struct Convolution {
  int64_t outputs, groups;
  bool has_bias;
  std::vector<int64_t> kernel, strides, pads, dilations;
};

Convolution read_convolution(const LayerContext& context, const Fields& fields) {
  fields.ignore({"force_nd_im2col", "cudnn_convolution_algo_seeker", "weight_filler", "bias_filler"});
  const int rank = context.bottom()->shape().rank();
  context.require(rank >= 3 && rank <= 5, "reads ", context.bottom()->shape(),
                  ", and convolves over 1 to 3 spatial dimensions behind those for the batch and the channels");
  context.require(context.axis(fields, "axis", 1, rank) == 1, "only axis 1 is supported for channels");
  const auto spatial_rank = static_cast<size_t>(rank) - 2;
  Convolution conv;
  conv.outputs = fields.integer("num_output", 0);
  context.require(conv.outputs > 0, "needs a num_output");
  conv.groups = fields.integer("group", 1, 1);
  conv.has_bias = fields.flag("bias_term", true);
  conv.kernel = spatial(context, fields, "kernel_size", "kernel", spatial_rank, 0, 0);
  for (const int64_t extent : conv.kernel) context.require(extent > 0, "needs a kernel_size");
  conv.strides = spatial(context, fields, "stride", "stride", spatial_rank, 1, 1);
  conv.pads = spatial(context, fields, "pad", "pad", spatial_rank, 0, 0);
  conv.dilations = spatial(context, fields, "dilation", "dilation", spatial_rank, 1, 1);
  return conv;
}

/// The channels that a convolution reads; from its weights if the input does not say.
int64_t channels_of(const LayerContext& context, const Convolution& conv, bool transposed) {
  const int64_t known = context.bottom()->shape()[1];
  const auto stored = context.stored_shape(0);
  if (known != kFree || !stored.has_value() || stored->rank() < 2) return known;
  const int first = stored->rank() - static_cast<int>(conv.kernel.size()) - 2;
  context.require(first >= 0, "its weight in the file is ", *stored);
  return transposed ? (*stored)[first] : (*stored)[first + 1] * conv.groups;
}

/// Several bottoms are convolved with the same weights.
std::vector<Value*> convolve(LayerContext& context, Convolution conv, const Fields& fields, bool transposed) {
  context.require_counts(-1, -1);
  context.require(context.num_tops() == context.bottoms().size(), "has ", context.bottoms().size(), " bottoms and ",
                  context.num_tops(), " tops, which must be as many");
  const int64_t channels = channels_of(context, conv, transposed);
  context.require(channels != kFree, "the number of channels that it reads is not known");
  context.require(channels % conv.groups == 0 && conv.outputs % conv.groups == 0, channels, " channels to ",
                  conv.outputs, " do not divide into ", conv.groups, " groups");
  std::vector<int64_t> dims(2);
  dims[0] = transposed ? channels : conv.outputs;
  dims[1] = (transposed ? conv.outputs : channels) / conv.groups;
  for (const int64_t extent : conv.kernel) dims.push_back(extent);
  Value* weight = context.weight(0, "weight", Shape(dims), LayerContext::filler(fields, "weight_filler"));
  Value* bias =
      conv.has_bias ? context.weight(1, "bias", {conv.outputs}, LayerContext::filler(fields, "bias_filler")) : nullptr;
  std::vector<Value*> tops;
  for (Value* x : context.bottoms()) {
    tops.push_back(transposed ? ops::conv_transpose(x, weight, bias,
                                                    {.strides = conv.strides,
                                                     .pads = conv.pads,
                                                     .output_padding = {},
                                                     .dilations = conv.dilations,
                                                     .groups = conv.groups},
                                                    context.name())
                              : ops::conv(x, weight, bias,
                                          {.strides = conv.strides,
                                           .pads = conv.pads,
                                           .dilations = conv.dilations,
                                           .groups = conv.groups,
                                           .activation = ""},
                                          context.name()));
  }
  return tops;
}

std::vector<Value*> convert_convolution(LayerContext& context) {
  const Fields& fields = context.fields("convolution_param");
  return convolve(context, read_convolution(context, fields), fields, false);
}

std::vector<Value*> convert_deconvolution(LayerContext& context) {
  const Fields& fields = context.fields("convolution_param");
  return convolve(context, read_convolution(context, fields), fields, true);
}

/// Each channel by itself, whatever the file says for `group`.
std::vector<Value*> convert_depthwise(LayerContext& context) {
  const Fields& fields = context.fields("convolution_param");
  Convolution conv = read_convolution(context, fields);
  conv.groups = context.bottom()->shape()[1];
  context.require(conv.groups != kFree, "the number of channels that it reads is not known");
  return convolve(context, conv, fields, false);
}

/// Elements of a row of what a product reads, from `axis` on; from its weights if the input does not say.
int64_t row_length(const LayerContext& context, const Value* x, int axis, int64_t outputs) {
  int64_t length = 1;
  for (int d = axis; d < x->shape().rank(); ++d) {
    if (x->shape()[d] != kFree) {
      length *= x->shape()[d];
      continue;
    }
    const auto stored = context.stored_shape(0);
    context.require(stored.has_value(), "the size of what it reads, ", x->shape(), ", is not known");
    return stored->num_elements() / outputs;
  }
  return length;
}

std::vector<Value*> convert_inner_product(LayerContext& context) {
  context.require_counts(1);
  const Fields& fields = context.fields("inner_product_param");
  Value* x = context.bottom();
  const int axis = context.axis(fields, "axis", 1, x->shape().rank());
  const int64_t outputs = fields.integer("num_output", 0);
  context.require(outputs > 0, "needs a num_output");
  const int64_t inputs = row_length(context, x, axis, outputs);
  const bool transposed = fields.flag("transpose", false), has_bias = fields.flag("bias_term", true);
  fields.ignore({"weight_filler", "bias_filler"});
  const Shape shape = transposed ? Shape{inputs, outputs} : Shape{outputs, inputs};
  Value* weight = context.weight(0, "weight", shape, LayerContext::filler(fields, "weight_filler"));
  Value* bias = has_bias ? context.weight(1, "bias", {outputs}, LayerContext::filler(fields, "bias_filler")) : nullptr;
  if (x->shape().rank() != axis + 1) {
    std::vector<int64_t> dims(static_cast<size_t>(axis), 0);
    dims.push_back(-1);
    x = ops::reshape(x, dims);
  }
  if (!transposed) return {ops::linear(x, weight, bias, "", context.name())};
  Value* product = ops::matmul(x, weight, false, false, context.name());
  return {bias == nullptr ? product : ops::add(product, bias)};
}

std::vector<Value*> convert_embed(LayerContext& context) {
  context.require_counts(1);
  const Fields& fields = context.fields("embed_param");
  const int64_t rows = fields.integer("input_dim", 0), width = fields.integer("num_output", 0);
  context.require(rows > 0 && width > 0, "needs an input_dim and a num_output");
  fields.ignore({"weight_filler", "bias_filler"});
  const bool has_bias = fields.flag("bias_term", true);
  Value* table = context.weight(0, "weight", {rows, width}, LayerContext::filler(fields, "weight_filler"));
  Value* found = ops::embedding(table, ops::cast(context.bottom(), DType::kI64), -1, context.name());
  if (!has_bias) return {found};
  return {ops::add(found, context.weight(1, "bias", {width}, LayerContext::filler(fields, "bias_filler")))};
}

const RegisterLayers kLayers({
    {"Convolution", convert_convolution},
    {"ConvolutionDepthwise", convert_depthwise},
    {"DepthwiseConvolution", convert_depthwise},
    {"Deconvolution", convert_deconvolution},
    {"InnerProduct", convert_inner_product},
    {"Embed", convert_embed},
});

}  // namespace
}  // namespace thalweg::caffe
