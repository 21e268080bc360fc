// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/nn/norm.h"

#include "nn/layers/learning_batch_norm.h"
#include "thalweg/ops/conv.h"
#include "thalweg/ops/elementwise.h"
#include "thalweg/ops/norm.h"
#include "thalweg/ops/shape.h"

namespace thalweg::nn {
namespace {

void check_channels(const Scope& scope, const char* layer, const Shape& shape, int64_t channels) {
  scope.require(shape.rank() >= 2 && (shape[1] == channels || shape[1] == kFree), layer, "input ", shape,
                " does not have the ", channels, " channels that the layer takes");
}

struct Affine {
  Value* scale = nullptr;
  Value* shift = nullptr;
};

Affine affine_parameters(const Scope& scope, const Shape& shape, bool bias = true) {
  Affine result;
  result.scale = scope.parameter("weight", shape, init::ones());
  if (bias) result.shift = scope.parameter("bias", shape, init::zeros());
  return result;
}

Affine no_affine(Graph& graph, int64_t channels) {
  return {graph.constant(Tensor::full<float>({channels}, 1.0F)), graph.constant(Tensor::full<float>({channels}, 0.0F))};
}

}  // namespace

template <int Rank>
Value* BatchNorm<Rank>::forward(const Scope& scope, Value* x) const {
  const int rank = x->shape().rank();
  scope.require(rank == Rank + 2 || (Rank == 1 && rank == 2), "BatchNorm", "takes [N, C] and ", Rank,
                " spatial dimensions, got ", x->shape());
  check_channels(scope, "BatchNorm", x->shape(), features_);
  Graph& graph = scope.graph();
  const Affine affine = options_.affine ? affine_parameters(scope, {features_}) : no_affine(graph, features_);
  Value* running_mean = scope.state("running_mean", {features_}, 0.0);
  Value* running_variance = scope.state("running_var", {features_}, 1.0);
  return learning_batch_norm(x, affine.scale, affine.shift, running_mean, running_variance, options_.eps,
                             options_.momentum, scope.path());
}

template class BatchNorm<1>;
template class BatchNorm<2>;
template class BatchNorm<3>;

Value* LayerNorm::forward(const Scope& scope, Value* x) const {
  const Shape& shape = x->shape();
  bool fits = shape.rank() >= shape_.rank();
  for (int i = 1; fits && i <= shape_.rank(); ++i) fits = shape[-i] == shape_[-i] || shape[-i] == kFree;
  scope.require(fits, "LayerNorm", "input ", shape, " does not end in ", shape_);
  Affine affine;
  if (options_.elementwise_affine) affine = affine_parameters(scope, shape_, options_.bias);
  return ops::layer_norm(x, affine.scale, affine.shift, -shape_.rank(), options_.eps, scope.path());
}

Value* GroupNorm::forward(const Scope& scope, Value* x) const {
  check_channels(scope, "GroupNorm", x->shape(), channels_);
  scope.require(groups_ >= 1 && channels_ % groups_ == 0, "GroupNorm", channels_, " channels cannot be cut into ",
                groups_, " groups");
  Affine affine;
  if (options_.affine) affine = affine_parameters(scope, {channels_});
  return ops::group_norm(x, affine.scale, affine.shift, groups_, options_.eps, scope.path());
}

Value* InstanceNorm::forward(const Scope& scope, Value* x) const {
  check_channels(scope, "InstanceNorm", x->shape(), features_);
  Affine affine;
  if (options_.affine) affine = affine_parameters(scope, {features_});
  return ops::group_norm(x, affine.scale, affine.shift, features_, options_.eps, scope.path());
}

Value* LocalResponseNorm::forward(const Scope& scope, Value* x) const {
  return ops::lrn(x, size_, alpha_, beta_, k_, scope.path());
}

}  // namespace thalweg::nn
