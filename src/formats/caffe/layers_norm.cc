// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// BatchNorm, Scale, Bias, MVN, Normalize.
#include "formats/caffe/layer_context.h"
#include "nn/layers/learning_batch_norm.h"
#include "ops/ids.h"
#include "thalweg/ops.h"

namespace thalweg::caffe {
namespace {

namespace init = nn::init;

/// Statistics as Caffe keeps them: sums that decay, and the sum of what they were weighted with.
struct Statistics {
  Tensor mean, variance;
};

Tensor divided(const Tensor& sums, float weight) {
  Tensor result(DType::kF32, sums.shape());
  // Caffe divides by 0 as if nothing had been learned yet.
  const float factor = weight == 0 ? 0.0F : 1.0F / weight;
  for (int64_t i = 0; i < sums.num_elements(); ++i) result.data<float>()[i] = sums.data<float>()[i] * factor;
  return result;
}

/// A parameter is asked for, so that it is checked and found as others are; its content moves into `Statistics`.
Statistics read_statistics(LayerContext& context, int64_t channels) {
  const Tensor mean = context.content(0, "mean", {channels}, init::zeros());
  const Tensor variance = context.content(1, "variance", {channels}, init::ones());
  const Tensor weight = context.content(2, "weight of its statistics", {1}, init::ones());
  return {divided(mean, weight.data<float>()[0]), divided(variance, weight.data<float>()[0])};
}

Value* constant(Graph& graph, int64_t channels, float value) {
  return graph.constant(Tensor::full<float>({channels}, value));
}

std::vector<Value*> convert_batch_norm(LayerContext& context) {
  context.require_counts(1);
  const Fields& fields = context.fields("batch_norm_param");
  Value* x = context.bottom();
  context.require(x->shape().rank() >= 2 && x->shape()[1] != kFree, "reads ", x->shape(),
                  ", whose number of channels must be known");
  const int64_t channels = x->shape()[1];
  const double epsilon = fields.real("eps", 1e-5), kept = fields.real("moving_average_fraction", 0.999);
  const bool frozen_in_file = fields.flag("use_global_stats", true);
  const auto training = context.options().batch_norms.value_or(frozen_in_file ? onnx::BatchNormTraining::kFrozen
                                                                              : onnx::BatchNormTraining::kLearned);
  const Statistics statistics = read_statistics(context, channels);
  Graph& graph = context.graph();
  Value *scale = constant(graph, channels, 1.0F), *shift = constant(graph, channels, 0.0F);
  const std::string mean_name = context.name() + ".running_mean", variance_name = context.name() + ".running_var";
  if (training == onnx::BatchNormTraining::kLearned) {
    Value *mean = graph.state(mean_name, statistics.mean), *variance = graph.state(variance_name, statistics.variance);
    return {nn::learning_batch_norm(x, scale, shift, mean, variance, epsilon, 1 - kept, context.name())};
  }
  Value* mean = graph.parameter(mean_name, statistics.mean, false);
  Value* variance = graph.parameter(variance_name, statistics.variance, false);
  return {ops::batch_norm_inference(x, scale, shift, mean, variance, epsilon, context.name())};
}

bool is_batch_norm(const Node* node) {
  return node != nullptr && (node->op_name() == op::kBatchNorm || node->op_name() == op::kBatchNormInference);
}

bool is_full_of(const Value* value, float number) {
  if (value == nullptr || value->kind() != Value::Kind::kConstant) return false;
  const float* data = value->data().data<float>();
  for (int64_t i = 0; i < value->data().num_elements(); ++i) {
    if (data[i] != number) return false;
  }
  return true;
}

/// A batch norm of Caffe's neither scales nor shifts: the layer behind it does, and becomes part of it, if nobody else
/// reads what lies between.
bool joins_batch_norm(const LayerContext& context, const Fields& fields) {
  const Node* norm = context.bottom()->producer();
  return is_batch_norm(norm) && context.reads_alone(0) && fields.integer("num_axes", 1, -1) == 1 &&
         context.axis(fields, "axis", 1, context.bottom()->shape().rank()) == 1 && is_full_of(norm->input(1), 1.0F) &&
         is_full_of(norm->input(2), 0.0F);
}

/// The dimensions of the bottom that a weight of the layer goes along.
Shape covered(const LayerContext& context, const Fields& fields, int axis) {
  const Shape& x = context.bottom()->shape();
  const int64_t count = fields.integer("num_axes", 1, -1);
  context.require(count == -1 || axis + count <= x.rank(), "num_axes is ", count, " from axis ", axis, " of ", x);
  const int end = count == -1 ? x.rank() : axis + static_cast<int>(count);
  return Shape(std::vector<int64_t>(x.begin() + axis, x.begin() + end));
}

/// A second bottom in place of a weight.
Value* second(const LayerContext& context, int axis) {
  Value* operand = context.bottom(1);
  context.require(operand->shape().rank() + axis <= context.bottom()->shape().rank(), "reads ", operand->shape(),
                  " along ", context.bottom()->shape(), " from axis ", axis);
  const int after = context.bottom()->shape().rank() - axis - operand->shape().rank();
  std::vector<int64_t> axes;
  for (int i = 0; i < after; ++i) axes.push_back(operand->shape().rank() + i);
  return axes.empty() ? operand : ops::unsqueeze(operand, axes);
}

std::vector<Value*> convert_scale(LayerContext& context) {
  const bool own = context.bottoms().size() < 2;
  context.require_counts(own ? 1 : 2);
  const Fields& fields = context.fields("scale_param");
  fields.ignore({"filler", "bias_filler"});
  Value* x = context.bottom();
  const bool joins = own && joins_batch_norm(context, fields);
  const int axis = context.axis(fields, "axis", 1, x->shape().rank());
  const bool has_shift = fields.flag("bias_term", false);
  const Shape shape = own ? covered(context, fields, axis) : context.bottom(1)->shape();
  Value* scale = own ? context.weight(0, "weight", shape, LayerContext::filler(fields, "filler", 1.0)) : nullptr;
  Value* shift =
      has_shift ? context.weight(own ? 1 : 0, "bias", shape, LayerContext::filler(fields, "bias_filler")) : nullptr;
  if (joins) {
    Node* norm = x->producer();
    std::vector<Value*> inputs = norm->inputs();
    inputs[1] = scale;
    if (shift != nullptr) inputs[2] = shift;
    context.graph().set_inputs(norm, inputs);
    return {x};
  }
  Value* scaled = ops::mul(x, own ? along_axis(scale, axis, x) : second(context, axis), context.name());
  return {shift == nullptr ? scaled : ops::add(scaled, along_axis(shift, axis, x))};
}

std::vector<Value*> convert_bias(LayerContext& context) {
  const bool own = context.bottoms().size() < 2;
  context.require_counts(own ? 1 : 2);
  const Fields& fields = context.fields("bias_param");
  fields.ignore({"filler"});
  Value* x = context.bottom();
  const int axis = context.axis(fields, "axis", 1, x->shape().rank());
  if (!own) return {ops::add(x, second(context, axis), context.name())};
  Value* bias = context.weight(0, "bias", covered(context, fields, axis), LayerContext::filler(fields, "filler", 0.0));
  return {ops::add(x, along_axis(bias, axis, x), context.name())};
}

std::vector<Value*> convert_mvn(LayerContext& context) {
  context.require_counts(1);
  const Fields& fields = context.fields("mvn_param");
  Value* x = context.bottom();
  const bool across = fields.flag("across_channels", false), divides = fields.flag("normalize_variance", true);
  const double epsilon = fields.real("eps", 1e-9);
  std::vector<int64_t> axes;
  for (int d = across ? 1 : 2; d < x->shape().rank(); ++d) axes.push_back(d);
  context.require(!axes.empty(), "reads ", x->shape(), ", in which there is nothing to normalise over");
  Value* centred = ops::sub(x, ops::reduce_mean(x, axes, true));
  if (!divides) return {centred};
  // The root first: epsilon is added to the deviation, not to the variance.
  Value* deviation = ops::sqrt(ops::reduce_mean(ops::square(centred), axes, true));
  return {ops::div(centred, ops::add(deviation, epsilon))};
}

/// Divides by the root of the sum of squares over channels, or over the whole picture, and scales.
std::vector<Value*> convert_normalize(LayerContext& context) {
  context.require_counts(1);
  const Fields& fields = context.fields("norm_param");
  Value* x = context.bottom();
  context.require(x->shape().rank() >= 2, "reads ", x->shape(), ", which has no channels");
  const bool whole = fields.flag("across_spatial", true), shared = fields.flag("channel_shared", true);
  const double epsilon = fields.real("eps", 1e-10);
  fields.ignore({"scale_filler"});
  std::vector<int64_t> axes{1};
  for (int d = 2; whole && d < x->shape().rank(); ++d) axes.push_back(d);
  Value* norm = ops::sqrt(ops::add(ops::reduce_sum(ops::square(x), axes, true), epsilon));
  const Shape shape{shared ? 1 : x->shape()[1]};
  Value* scale = context.weight(0, "weight", shape, LayerContext::filler(fields, "scale_filler", 1.0));
  return {ops::mul(ops::div(x, norm), along_axis(scale, 1, x), context.name())};
}

const RegisterLayers kLayers({
    {"BatchNorm", convert_batch_norm},
    {"Scale", convert_scale},
    {"Bias", convert_bias},
    {"MVN", convert_mvn},
    {"Normalize", convert_normalize},
});

}  // namespace
}  // namespace thalweg::caffe
