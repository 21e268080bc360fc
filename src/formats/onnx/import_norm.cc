// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Normalisations, softmax and dropout.
#include "formats/onnx/import_common.h"
#include "formats/onnx/import_graph.h"
#include "formats/onnx/import_random.h"
#include "nn/layers/learning_batch_norm.h"
#include "ops/ids.h"
#include "ops/random.h"
#include "thalweg/ops.h"

namespace thalweg::onnx {
namespace {

/// x as [N, C, ...] parameters: [C] with size 1 for each spatial dimension.
Value* by_channel(Value* vector, int rank) {
  std::vector<int64_t> dims(static_cast<size_t>(rank - 1), 1);
  dims[0] = -1;
  return ops::reshape(vector, dims);
}

/// The engine scales two-byte floats by f32.
Value* as_parameter(Value* x) { return x->dtype() == DType::kF64 ? x : ops::cast(x, DType::kF32); }

/// The defaults of ONNX's norms.
double epsilon_of(const NodeContext& context) { return context.real("epsilon", 1e-5F); }
double momentum_of(const NodeContext& context) { return context.real("momentum", 0.9F); }

std::vector<int64_t> all_but_channels(const Value* x) {
  std::vector<int64_t> axes = {0};
  for (int d = 2; d < x->shape().rank(); ++d) axes.push_back(d);
  return axes;
}

/// In training form: normalises by the batch, and moves the running statistics towards it.
std::vector<Value*> batch_norm_training(const NodeContext& context, double epsilon) {
  Value* x = context.input(0);
  const std::vector<int64_t> axes = all_but_channels(x);
  Value* mean = ops::reduce_mean(x, axes, true);
  Value* variance = ops::reduce_mean(ops::square(ops::sub(x, mean)), axes, true);
  Value* normal = ops::mul(ops::sub(x, mean), ops::rsqrt(ops::add(variance, epsilon)));
  const int rank = x->shape().rank();
  Value* y = ops::add(ops::mul(normal, by_channel(context.input(1), rank)), by_channel(context.input(2), rank));
  const double momentum = momentum_of(context);
  const auto blend = [&](Value* running, Value* batch) {
    return ops::add(ops::mul(running, momentum), ops::mul(ops::reshape(batch, {-1}), 1.0 - momentum));
  };
  return {y, blend(context.input(3), mean), blend(context.input(4), variance)};
}

std::vector<Value*> batch_norm(const NodeContext& context) {
  Value* x = context.input(0);
  const double epsilon = epsilon_of(context);
  context.require(x->shape().rank() >= 2, "the input must be [N, C, ...], not ", x->shape());
  context.require(context.opset() >= 9 || context.flag("spatial", true), "spatial=0 is not supported");
  if (context.flag(kLearns, false)) {
    return {nn::learning_batch_norm(x, context.input(1), context.input(2), context.input(3), context.input(4), epsilon,
                                    1.0 - momentum_of(context), context.name())};
  }
  if (context.flag("training_mode", false)) return batch_norm_training(context, epsilon);
  Value* scale = ops::cast(context.input(1), DType::kF32);
  Value* shift = ops::cast(context.input(2), DType::kF32);
  Value* mean = ops::cast(context.input(3), DType::kF32);
  Value* variance = ops::cast(context.input(4), DType::kF32);
  return {ops::batch_norm_inference(x, scale, shift, mean, variance, epsilon, context.name())};
}

Value* instance_norm(const NodeContext& context) {
  Value* x = context.input(0);
  context.require(x->shape().rank() >= 3 && x->shape()[1] != kFree, "the number of channels must be known");
  return ops::group_norm(x, as_parameter(context.input(1)), as_parameter(context.input(2)), x->shape()[1],
                         epsilon_of(context), context.name());
}

/// Before opset 21 there was one scale for each group rather than for each channel.
Value* group_norm(const NodeContext& context) {
  Value* x = context.input(0);
  const int64_t groups = context.integer("num_groups", 0);
  Value* scale = context.input(1);
  Value* shift = context.input(2);
  const int64_t channels = x->shape()[1];
  context.require(channels != kFree && groups > 0 && channels % groups == 0, channels, " channels do not divide into ",
                  groups, " groups");
  if (context.opset() < 21) {
    const auto spread = [&](Value* value) {
      return ops::reshape(ops::expand(ops::reshape(value, {groups, 1}), {groups, channels / groups}), {channels});
    };
    scale = spread(scale);
    shift = spread(shift);
  }
  return ops::group_norm(x, as_parameter(scale), as_parameter(shift), groups, epsilon_of(context), context.name());
}

std::vector<int64_t> axes_from(int64_t axis, int rank) {
  std::vector<int64_t> axes;
  for (int64_t d = axis; d < rank; ++d) axes.push_back(d);
  return axes;
}

/// Mean and inverse deviation are outputs as well; where they are wanted, or the scale has another shape than the
/// normalised dimensions, the norm is built from its parts.
std::vector<Value*> layer_norm(const NodeContext& context) {
  Value* x = context.input(0);
  const int rank = x->shape().rank();
  const int64_t axis = normal_axis(context, context.integer("axis", -1), rank);
  const double epsilon = epsilon_of(context);
  Value* scale = context.input(1);
  Value* shift = context.optional(2);
  const Shape normal_shape(std::vector<int64_t>(x->shape().begin() + axis, x->shape().end()));
  const bool fits = scale->shape() == normal_shape && (shift == nullptr || shift->shape() == normal_shape);
  if (fits && !context.wants(1) && !context.wants(2)) {
    shift = shift != nullptr ? as_parameter(shift) : nullptr;
    return {ops::layer_norm(x, as_parameter(scale), shift, axis, epsilon, context.name())};
  }
  const DType dtype = x->dtype();
  x = ops::cast(x, dtype == DType::kF64 ? dtype : DType::kF32);
  const std::vector<int64_t> axes = axes_from(axis, rank);
  Value* mean = ops::reduce_mean(x, axes, true);
  Value* centred = ops::sub(x, mean);
  Value* inverse = ops::rsqrt(ops::add(ops::reduce_mean(ops::square(centred), axes, true), epsilon));
  Value* y = ops::mul(ops::cast(ops::mul(centred, inverse), dtype), scale);
  return {shift != nullptr ? ops::add(y, shift) : y, mean, inverse};
}

Value* rms_norm(const NodeContext& context) {
  Value* x = context.input(0);
  const DType dtype = x->dtype();
  const int64_t axis = normal_axis(context, context.integer("axis", -1), x->shape().rank());
  x = ops::cast(x, dtype == DType::kF64 ? dtype : DType::kF32);
  Value* mean_square = ops::reduce_mean(ops::square(x), axes_from(axis, x->shape().rank()), true);
  Value* normal = ops::mul(x, ops::rsqrt(ops::add(mean_square, epsilon_of(context))));
  return ops::mul(ops::cast(normal, dtype), context.input(1));
}

Value* lp_norm(const NodeContext& context) {
  Value* x = context.input(0);
  const int64_t p = context.integer("p", 2);
  context.require(p == 1 || p == 2, "p must be 1 or 2, got ", p);
  const std::vector<int64_t> axes = {context.integer("axis", -1)};
  Value* norm = p == 1 ? ops::reduce_l1(x, axes, true) : ops::sqrt(ops::reduce_sum(ops::square(x), axes, true));
  // A vector of zeros stays one.
  return ops::where(ops::equal(norm, zero_like(norm)), zero_like(x), ops::div(x, norm));
}

Value* mean_variance_norm(const NodeContext& context) {
  Value* x = context.input(0);
  const std::vector<int64_t> axes = context.integers("axes", {0, 2, 3});
  Value* centred = ops::sub(x, ops::reduce_mean(x, axes, true));
  Value* deviation = ops::sqrt(ops::reduce_mean(ops::square(centred), axes, true));
  return ops::div(centred, ops::add(deviation, 1e-9));
}

/// Rounded to f16 after every step, as those who publish models in f16 compute it.
Value* softmax_f16(Value* x, int64_t axis) {
  Value* power = ops::exp(ops::sub(x, ops::reduce_max(x, {axis}, true)));
  return ops::div(power, ops::reduce_sum(power, {axis}, true));
}

/// Before opset 13 over all dimensions from `axis` on.
Value* softmax(const NodeContext& context, Value* (*function)(Value*, int64_t, const std::string&)) {
  Value* x = context.input(0);
  const int rank = x->shape().rank();
  const int64_t axis = normal_axis(context, context.integer("axis", context.opset() < 13 ? 1 : -1), rank);
  if (x->dtype() == DType::kF16 && context.opset() >= 13 && function == ops::softmax) return softmax_f16(x, axis);
  if (context.opset() >= 13 || axis == rank - 1) return function(x, axis, context.name());
  const Shape shape = static_shape(context, x);
  return ops::reshape(function(ops::flatten(x, axis), 1, context.name()), shape.dims());
}

/// Drawn in every run, as the file says.
std::vector<Value*> dropped(const NodeContext& context, Value* x, double ratio) {
  Value* u = ops::random_uniform(context.graph(), x, {}, 0.0, 1.0, DType::kF32, seed_of(context));
  Value* kept = ops::greater_equal(u, ops::scalar_like(u, ratio));
  return {ops::where(kept, ops::mul(x, 1.0 / (1.0 - ratio)), zero_like(x)), kept};
}

/// In a model that can be trained it is active then, and only then. Elsewhere it has no effect, which the mask says.
std::vector<Value*> dropout(const NodeContext& context) {
  Value* x = context.input(0);
  double ratio = context.real("ratio", 0.5);
  if (context.opset() >= 12 && context.has(1)) ratio = context.content_number(1);
  context.require(ratio >= 0 && ratio < 1, "the ratio must be in [0, 1), got ", ratio);
  const bool trains = context.opset() >= 12 && context.has(2) && context.content_number(2) != 0 && ratio > 0;
  if (trains && !(context.flag(kLearns, false) && !context.wants(1))) return dropped(context, x, ratio);
  if (context.wants(1)) {
    Value* yes = context.constant(Tensor::scalar<bool>(true));
    return {x, ops::expand(yes, static_shape(context, x).dims())};
  }
  if (ratio == 0 || !context.flag(kLearns, false) || !is_floating(x->dtype())) return {x};
  return {ops::dropout(x, ratio, context.integer("seed", 0), context.name())};
}

const RegisterConverters kConverters({
    {"BatchNormalization", batch_norm, op::kBatchNormInference},
    {"InstanceNormalization", single(instance_norm)},
    {"GroupNormalization", single(group_norm)},
    {"LayerNormalization", layer_norm},
    {"RMSNormalization", single(rms_norm)},
    {"LpNormalization", single(lp_norm)},
    {"MeanVarianceNormalization", single(mean_variance_norm)},
    {"Softmax", single([](const NodeContext& context) { return softmax(context, ops::softmax); })},
    {"LogSoftmax", single([](const NodeContext& context) { return softmax(context, ops::log_softmax); })},
    {"Dropout", dropout, op::kDropout},
});

}  // namespace
}  // namespace thalweg::onnx
