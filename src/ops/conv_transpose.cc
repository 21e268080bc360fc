// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// conv_transpose(x, w[, bias]) is the data gradient of the convolution that maps y to x with the same weights; so its
// own data gradient is that convolution, and its weight gradient that convolution's with the roles of x and dy swapped.
#include "ops/conv_geometry.h"
#include "ops/fused_activation.h"
#include "ops/ids.h"
#include "thalweg/ops/conv.h"
#include "thalweg/ops/reduce.h"

namespace thalweg {
namespace {

std::vector<int64_t> output_extents(const InferContext& context, const Shape& x, const Shape& w) {
  const Window window = read_window(context.attrs(), spatial_dims(w));
  std::vector<int64_t> extra = context.attrs().integers("output_padding");
  if (extra.empty()) extra.assign(window.rank(), 0);
  context.require(extra.size() == window.rank(), "output_padding has ", extra.size(), " entries for ", window.rank(),
                  " spatial dimensions");
  std::vector<int64_t> out(window.rank());
  for (size_t d = 0; d < window.rank(); ++d) {
    context.require(extra[d] < window.strides[d], "output_padding must be less than the stride, got ", extra[d]);
    const int64_t in = x[static_cast<int>(d) + 2];
    const int64_t whole = (in - 1) * window.strides[d] + window.reach(d) + extra[d];
    out[d] = in == kFree ? kFree : whole - window.begins[d] - window.ends[d];
    context.require(in == kFree || out[d] > 0, "padding leaves nothing of spatial dimension ", d);
  }
  return out;
}

std::vector<TensorType> infer_transpose(const InferContext& context) {
  const Shape& x = context.shape(0);
  const Shape& w = context.shape(1);
  const int64_t groups = context.attrs().integer("groups");
  context.require_floating(0);
  context.require(context.dtype(1) == context.dtype(0), "input and weight differ in element type");
  context.require(x.rank() >= 3 && x.rank() <= 5, "the input must have 1 to 3 spatial dimensions");
  context.require(w.rank() == x.rank(), "the weight must have as many dimensions as the input");
  check_window(context, static_cast<size_t>(x.rank()) - 2);
  context.require(w[0] != 0 && w[0] % groups == 0, w[0], " input channels do not divide into ", groups, " groups");
  context.require(x[1] == w[0] || x[1] == kFree, "the input has ", x[1], " channels, the weight is for ", w[0]);
  const int64_t channels = w[1] * groups;
  if (context.has(2)) {
    context.require(context.shape(2) == Shape{channels}, "the bias must have one element per output channel (",
                    channels, ")");
    context.require(context.dtype(2) == context.dtype(0), "bias and input differ in element type");
  }
  return {{context.dtype(0), with_spatial(x[0], channels, output_extents(context, x, w))}};
}

std::vector<AttributeDef> transpose_attributes() {
  std::vector<AttributeDef> own = fused_activation_attributes();
  own.push_back(attr::integers("output_padding", "elements added at the end of each spatial dimension").at_least(0));
  return with_window(std::move(own));
}

void transpose_gradient(GradientContext& context) {
  TW_REQUIRE(context.attrs().text("activation").empty() && !fused_affine(context.attrs()).present(),
             describe(context.node()), ": has no gradient once an activation, a scale or a shift are fused into it");
  Value* dy = context.output_gradient();
  Attributes attrs = context.attrs();
  attrs.erase("output_padding");
  if (context.wants(0)) context.set(0, context.graph().add(op::kConv, {dy, context.input(1)}, attrs)->output());
  if (context.wants(1)) {
    attrs.set("kernel", spatial_dims(context.input(1)->shape()));
    context.set(1, context.graph().add(op::kConvGradWeights, {context.input(0), dy}, attrs)->output());
  }
  if (context.wants(2)) {
    std::vector<int64_t> axes{0};
    for (int d = 2; d < dy->shape().rank(); ++d) axes.push_back(d);
    context.set(2, ops::reduce_sum(dy, axes));
  }
}

const RegisterOp kTranspose(op::kConvTranspose, {2, 3},
                            "The transposed convolution: the data gradient of conv with the same weights.",
                            infer_transpose, transpose_gradient, transpose_attributes());

}  // namespace

namespace ops {

Value* conv_transpose(Value* x, Value* weight, Value* bias, const ConvTransposeOptions& options,
                      const std::string& name) {
  Attributes attrs{{"strides", options.strides}, {"pads", options.pads}, {"dilations", options.dilations}};
  attrs.set("output_padding", options.output_padding);
  attrs.set("groups", options.groups);
  std::vector<Value*> inputs{x, weight};
  if (bias != nullptr) inputs.push_back(bias);
  return x->graph().add(op::kConvTranspose, inputs, attrs, name)->output();
}

}  // namespace ops
}  // namespace thalweg
