// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "graph/op_registry.h"
#include "ops/ids.h"
#include "thalweg/ops/norm.h"

namespace thalweg {
namespace {

/// Statistics, scale and shift are kept in f32 whatever the activations are, but for checks in double.
DType statistics_type(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

void require_vector(const InferContext& context, size_t index, const TensorType& expected, const char* what) {
  if (!context.has(index)) return;
  context.require(context.dtype(index) == expected.dtype, what, " must be ", expected);
  const Shape& shape = context.shape(index);
  bool fits = shape.rank() == expected.shape.rank();
  for (int i = 0; fits && i < shape.rank(); ++i) fits = shape[i] == expected.shape[i] || expected.shape[i] == kFree;
  context.require(fits, what, " must be ", expected);
}

/// What a normalisation keeps for its gradient and what it is scaled by.
struct NormTypes {
  TensorType statistics;
  TensorType parameters;
};

NormTypes layer_norm_types(const InferContext& context, size_t x) {
  context.require_floating(x);
  const std::vector<int64_t>& dims = context.shape(x).dims();
  const int axis = context.axis(context.attrs().integer("axis"), context.shape(x).rank());
  const DType dtype = statistics_type(context.dtype(x));
  return {{dtype, Shape(std::vector<int64_t>(dims.begin(), dims.begin() + axis))},
          {dtype, Shape(std::vector<int64_t>(dims.begin() + axis, dims.end()))}};
}

NormTypes group_norm_types(const InferContext& context, size_t x) {
  context.require_floating(x);
  const Shape& shape = context.shape(x);
  context.require(shape.rank() >= 2, "x must be [N, C, ...]");
  const int64_t groups = context.attrs().integer("groups");
  context.require(shape[1] == kFree || shape[1] % groups == 0, shape[1], " channels cannot be put into ", groups,
                  " groups");
  const DType dtype = statistics_type(context.dtype(x));
  return {{dtype, {shape[0], groups}}, {dtype, {shape[1]}}};
}

NormTypes types_of(const InferContext& context, size_t x, bool by_group) {
  return by_group ? group_norm_types(context, x) : layer_norm_types(context, x);
}

/// layer_norm and group_norm(x, scale or null, shift or null) give y, mean and variance.
InferRule infer_norm(bool by_group) {
  return [by_group](const InferContext& context) {
    const NormTypes types = types_of(context, 0, by_group);
    require_vector(context, 1, types.parameters, "scale");
    require_vector(context, 2, types.parameters, "shift");
    return std::vector<TensorType>{context.type(0), types.statistics, types.statistics};
  };
}

/// layer_norm_grad and group_norm_grad(dy, x, mean, variance, scale or null) give dx, dscale and dshift.
InferRule infer_norm_grad(bool by_group) {
  return [by_group](const InferContext& context) {
    const NormTypes types = types_of(context, 1, by_group);
    require_vector(context, 4, types.parameters, "scale");
    return std::vector<TensorType>{context.type(1), types.parameters, types.parameters};
  };
}

void norm_gradient(GradientContext& context) {
  TW_REQUIRE(context.output_gradient(1) == nullptr && context.output_gradient(2) == nullptr, describe(context.node()),
             ": its statistics have no gradient; differentiate y only");
  const Node* grad = context.graph().add(
      context.node().op_name() + "_grad",
      {context.output_gradient(), context.input(0), context.output(1), context.output(2), context.input(1)},
      context.attrs());
  for (size_t i = 0; i < 3; ++i) {
    if (context.wants(i)) context.set(i, grad->output(i));
  }
}

const AttributeDef kEpsilon = attr::real("epsilon", 1e-5, "added to the variance").at_least(0.0);
const std::vector<AttributeDef> kLayerAttributes{
    attr::integer("axis", -1, "the first that is normalised over; negative: from the end"), kEpsilon};
const std::vector<AttributeDef> kGroupAttributes{attr::integer("groups", 1, "of channels").at_least(1), kEpsilon};

const RegisterOp kLayerNorm(op::kLayerNorm, {1, 3}, "Normalises all from an axis on, then scales and shifts it.",
                            infer_norm(false), norm_gradient, kLayerAttributes, {.traits = Trait::kFollowsBf16});
const RegisterOp kLayerNormGrad(op::kLayerNormGrad, {4, 5}, "", infer_norm_grad(false), nullptr, kLayerAttributes);
const RegisterOp kGroupNorm(op::kGroupNorm, {1, 3},
                            "Normalises groups of channels of each sample, then scales and shifts them.",
                            infer_norm(true), norm_gradient, kGroupAttributes, {.traits = Trait::kFollowsBf16});
const RegisterOp kGroupNormGrad(op::kGroupNormGrad, {4, 5}, "", infer_norm_grad(true), nullptr, kGroupAttributes);

}  // namespace

namespace ops {

Value* layer_norm(Value* x, Value* scale, Value* shift, int64_t axis, double epsilon, const std::string& name) {
  return x->graph().add(op::kLayerNorm, {x, scale, shift}, {{"axis", axis}, {"epsilon", epsilon}}, name)->output();
}

Value* group_norm(Value* x, Value* scale, Value* shift, int64_t groups, double epsilon, const std::string& name) {
  return x->graph().add(op::kGroupNorm, {x, scale, shift}, {{"groups", groups}, {"epsilon", epsilon}}, name)->output();
}

}  // namespace ops
}  // namespace thalweg
