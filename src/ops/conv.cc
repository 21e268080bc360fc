// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// conv and its gradients:
//   conv(x, w[, bias[, residual[, slope]]]) -> y
//                                          attributes strides, pads, dilations, groups, activation; the residual is
//                                          added before the activation, or before what is negative is multiplied by
//                                          the slope of its channel; residual, slope and all activations but relu are
//                                          made by a pass for inference and have no gradient
//   conv_grad_data(dy, w) -> dx            "input_spatial": the spatial extents of x, which dy does not determine
//   conv_grad_weights(dy, x) -> dw[, db]   "kernel": that of w; "bias": also give db; "weights_dtype", "bias_dtype":
//                                          element types of the results if they are not that of dy, so that a bf16
//                                          convolution can give the f32 gradient of its f32 master weights
#include "thalweg/ops/conv.h"

#include "ops/conv_geometry.h"
#include "ops/fused_activation.h"
#include "ops/ids.h"
#include "thalweg/ops/elementwise.h"
#include "thalweg/ops/reduce.h"

namespace thalweg {
namespace {

bool meet(int64_t a, int64_t b) { return a == b || a == kFree || b == kFree; }

void check_channels(const InferContext& context, int64_t channels, const Shape& w) {
  const int64_t groups = context.attrs().integer("groups");
  // A weight without output channels would divide into any number.
  context.require(w[0] != 0 && w[0] % groups == 0, w[0], " output channels do not divide into ", groups, " groups");
  context.require(meet(channels, w[1] == kFree ? kFree : w[1] * groups), "the input has ", channels,
                  " channels, the weight is for ", w[1] * groups);
}

/// Input x of the convolution: 1 to 3 spatial dimensions, and a weight of as many.
void check_ranks(const InferContext& context, const Shape& x, const Shape& w) {
  context.require(x.rank() >= 3 && x.rank() <= 5, "the input must have 1 to 3 spatial dimensions");
  context.require(w.rank() == x.rank(), "the weight must have as many dimensions as the input");
}

}  // namespace

Shape conv_output(const InferContext& context, const Shape& x, const Shape& w) {
  check_ranks(context, x, w);
  check_window(context, static_cast<size_t>(x.rank()) - 2);
  check_channels(context, x[1], w);
  const Window window = read_window(context.attrs(), spatial_dims(w));
  std::vector<int64_t> out(window.rank());
  for (size_t d = 0; d < window.rank(); ++d) {
    const int64_t extent = x[static_cast<int>(d) + 2];
    out[d] = window.positions(d, extent);
    context.require(out[d] != 0, "the kernel reaches over ", window.reach(d), " elements of spatial dimension ", d,
                    ", which has ", extent, " and padding ", window.begins[d], "+", window.ends[d]);
  }
  return with_spatial(x[0], w[0], out);
}

namespace {

void check_bias(const InferContext& context, size_t index, int64_t channels) {
  if (!context.has(index)) return;
  context.require_rank(index, 1);
  context.require(meet(context.shape(index)[0], channels), "the bias must have one element per output channel (",
                  channels, ")");
  const bool wide = context.dtype(index) == DType::kF32 && context.dtype(0) != DType::kF64;
  context.require(wide || context.dtype(index) == context.dtype(0),
                  "the bias must be f32 or of the input's element type");
}

void check_slope(const InferContext& context, int64_t channels) {
  if (!context.has(4)) return;
  context.require_rank(4, 1);
  context.require(context.dtype(4) == DType::kF32 && meet(context.shape(4)[0], channels),
                  "the slopes must be f32, one for each output channel (", channels, ")");
  context.require(context.attrs().text("activation").empty(), "slopes and an activation exclude each other");
}

std::vector<TensorType> infer_conv(const InferContext& context) {
  const Shape& x = context.shape(0);
  const Shape& w = context.shape(1);
  context.require_floating(0);
  context.require(context.dtype(1) == context.dtype(0), "input and weight differ in element type");
  const TensorType y{context.dtype(0), conv_output(context, x, w)};
  check_bias(context, 2, w[0]);
  context.require(!context.has(3) || context.type(3) == y, "the residual must be ", y);
  check_slope(context, w[0]);
  return {y};
}

std::vector<TensorType> infer_grad_data(const InferContext& context) {
  const Shape& dy = context.shape(0);
  const Shape& w = context.shape(1);
  check_ranks(context, dy, w);
  check_window(context, static_cast<size_t>(dy.rank()) - 2);
  const std::vector<int64_t> spatial = context.attrs().integers("input_spatial");
  context.require(spatial.size() + 2 == static_cast<size_t>(dy.rank()), "input_spatial does not fit the gradient");
  const Shape x = with_spatial(dy[0], w[1] * context.attrs().integer("groups"), spatial);
  context.require(conv_output(context, x, w) == dy, "the gradient of an output ", conv_output(context, x, w),
                  " is expected");
  return {{context.dtype(0), x}};
}

DType result_dtype(const InferContext& context, const char* attribute) {
  const std::string name = context.attrs().text(attribute);
  return name.empty() ? context.dtype(0) : dtype_from_name(name);
}

std::vector<TensorType> infer_grad_weights(const InferContext& context) {
  const Shape& dy = context.shape(0);
  const Shape& x = context.shape(1);
  const int64_t groups = context.attrs().integer("groups");
  const std::vector<int64_t> kernel = context.attrs().integers("kernel");
  context.require(dy[1] != kFree && x[1] != kFree, "channels must be known");
  const Shape w = with_spatial(dy[1], x[1] / groups, kernel);
  context.require(conv_output(context, x, w) == dy, "the gradient of an output ", conv_output(context, x, w),
                  " is expected");
  std::vector<TensorType> results{{result_dtype(context, "weights_dtype"), w}};
  if (context.attrs().flag("bias")) results.push_back({result_dtype(context, "bias_dtype"), Shape{dy[1]}});
  return results;
}

Attributes window_attributes(const Attributes& attrs) {
  Attributes result;
  for (const char* name : {"strides", "pads", "dilations", "groups"}) {
    if (attrs.has(name)) result.set(name, attrs.items().at(name));
  }
  return result;
}

void add_weight_gradients(GradientContext& context, Value* dy) {
  Attributes attrs = window_attributes(context.attrs());
  const bool bias = context.wants(2);
  attrs.set("kernel", spatial_dims(context.input(1)->shape()));
  attrs.set("weights_dtype", std::string(name_of(context.input(1)->dtype())));
  if (bias) {
    attrs.set("bias", int64_t{1});
    attrs.set("bias_dtype", std::string(name_of(context.input(2)->dtype())));
  }
  const Node* node = context.graph().add(op::kConvGradWeights, {dy, context.input(0)}, attrs);
  context.set(1, node->output(0));
  if (bias) context.set(2, node->output(1));
}

void conv_gradient(GradientContext& context) {
  TW_REQUIRE(context.input(3) == nullptr, describe(context.node()),
             ": has no gradient once a residual is fused into it");
  const std::string activation = context.attrs().text("activation");
  TW_REQUIRE(activation.empty() || activation == op::kRelu, describe(context.node()), ": has no gradient once ",
             activation, " is fused into it");
  TW_REQUIRE(context.input(4) == nullptr && !fused_affine(context.attrs()).present(), describe(context.node()),
             ": has no gradient once slopes, a scale or a shift are fused into it");
  Value* dy = context.output_gradient();
  if (!activation.empty()) {
    dy = context.graph().add(op::kUnaryGrad, {dy, context.output()}, {{"function", activation}})->output();
  }
  // The data gradient comes first: what lies further down waits for it, and nobody waits for the weights.
  if (context.wants(0)) {
    const std::vector<int64_t> spatial = spatial_dims(context.input(0)->shape());
    for (int64_t extent : spatial) {
      TW_REQUIRE(extent != kFree, describe(context.node()),
                 ": the gradient needs static spatial dimensions; specialise the graph first");
    }
    Attributes attrs = window_attributes(context.attrs());
    attrs.set("input_spatial", spatial);
    context.set(0, context.graph().add(op::kConvGradData, {dy, context.input(1)}, attrs)->output());
  }
  if (context.wants(1)) {
    add_weight_gradients(context, dy);
  } else if (context.wants(2)) {
    std::vector<int64_t> axes{0};
    for (int d = 2; d < dy->shape().rank(); ++d) axes.push_back(d);
    context.set(2, ops::cast(ops::reduce_sum(dy, axes), context.input(2)->dtype()));
  }
}

const RegisterOp kConv(
    op::kConv, {2, 5},
    "A convolution of [N, C, ...] with weights [O, C/groups, ...], a bias, something to add, and for each channel a "
    "factor of what is below 0.",
    infer_conv, conv_gradient, with_window(fused_activation_attributes()),
    {.traits = Trait::kComputesInBf16 | Trait::kTakesActivation, .data_inputs = 2, .residual_input = 3});
const RegisterOp kGradData(op::kConvGradData, 2, "", infer_grad_data, nullptr,
                           with_window({attr::integers("input_spatial", "the spatial extents of x").needed()}));
const RegisterOp kGradWeights(op::kConvGradWeights, 2, "", infer_grad_weights, nullptr,
                              with_window({attr::integers("kernel", "the spatial extents of the weight").needed(),
                                           attr::flag("bias", "also gives the gradient of the bias"),
                                           attr::dtype("weights_dtype", "",
                                                       "of the weights' gradient, if not that of dy"),
                                           attr::dtype("bias_dtype", "", "of the bias' gradient, if not that of dy")}));

}  // namespace

ConvGeometry conv_geometry(const Node& node) {
  const auto in = [&](size_t i) -> const Shape& { return node.input(i)->shape(); };
  const Shape& out = node.output()->shape();
  const std::string& op = node.op_name();
  if (op == op::kConv || op == op::kQuantizedConv) return conv_geometry(node.attrs(), in(0), in(1), out);
  if (op == op::kConvGradWeights) return conv_geometry(node.attrs(), in(1), out, in(0));
  return conv_geometry(node.attrs(), out, in(1), in(0));
}

ConvBounds conv_bounds(const Attributes& attrs) {
  ConvBounds bounds;
  const std::string activation = attrs.text("activation");
  if (activation == op::kRelu) return {true, 0.0F, bounds.high};
  if (activation != op::kClip) return bounds;
  return {true, static_cast<float>(attrs.real("alpha")), static_cast<float>(attrs.real("beta"))};
}

Attributes conv_attributes(const ops::ConvOptions& options) {
  return {{"strides", options.strides},
          {"pads", options.pads},
          {"dilations", options.dilations},
          {"groups", options.groups}};
}

namespace ops {

Value* conv(Value* x, Value* weight, Value* bias, const ConvOptions& options, const std::string& name) {
  Attributes attrs = conv_attributes(options);
  if (!options.activation.empty()) attrs.set("activation", options.activation);
  std::vector<Value*> inputs{x, weight};
  if (bias != nullptr) inputs.push_back(bias);
  return x->graph().add(op::kConv, inputs, attrs, name)->output();
}

}  // namespace ops
}  // namespace thalweg
