// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/nn/scope.h"

namespace thalweg::nn {

struct BatchNormOptions {
  double eps = 1e-5;
  /// Share of the new batch in the running statistics.
  double momentum = 0.1;
  bool affine = true;
};

/// Parameters weight and bias, states running_mean and running_var, all [C].
template <int Rank>
class BatchNorm {
 public:
  explicit BatchNorm(int64_t num_features, BatchNormOptions options = {})
      : features_(num_features), options_(options) {}
  Value* forward(const Scope& scope, Value* x) const;

 private:
  int64_t features_;
  BatchNormOptions options_;
};
/// Takes [N, C] as well as [N, C, L].
using BatchNorm1d = BatchNorm<1>;
using BatchNorm2d = BatchNorm<2>;
using BatchNorm3d = BatchNorm<3>;

struct LayerNormOptions {
  double eps = 1e-5;
  bool elementwise_affine = true;
  bool bias = true;
};
class LayerNorm {
 public:
  explicit LayerNorm(int64_t normalized_size, LayerNormOptions options = {})
      : shape_{normalized_size}, options_(options) {}
  explicit LayerNorm(Shape normalized_shape, LayerNormOptions options = {})
      : shape_(std::move(normalized_shape)), options_(options) {}
  Value* forward(const Scope& scope, Value* x) const;

 private:
  Shape shape_;
  LayerNormOptions options_;
};

struct GroupNormOptions {
  double eps = 1e-5;
  bool affine = true;
};
class GroupNorm {
 public:
  GroupNorm(int64_t num_groups, int64_t num_channels, GroupNormOptions options = {})
      : groups_(num_groups), channels_(num_channels), options_(options) {}
  Value* forward(const Scope& scope, Value* x) const;

 private:
  int64_t groups_, channels_;
  GroupNormOptions options_;
};

struct InstanceNormOptions {
  double eps = 1e-5;
  bool affine = false;
};
/// Any number of spatial dimensions.
class InstanceNorm {
 public:
  explicit InstanceNorm(int64_t num_features, InstanceNormOptions options = {})
      : features_(num_features), options_(options) {}
  Value* forward(const Scope& scope, Value* x) const;

 private:
  int64_t features_;
  InstanceNormOptions options_;
};
using InstanceNorm1d = InstanceNorm;
using InstanceNorm2d = InstanceNorm;
using InstanceNorm3d = InstanceNorm;

class LocalResponseNorm {
 public:
  static constexpr double kAlpha = 1e-4, kBeta = 0.75, kOffset = 1.0;
  explicit LocalResponseNorm(int64_t size, double alpha = kAlpha, double beta = kBeta, double k = kOffset)
      : size_(size), alpha_(alpha), beta_(beta), k_(k) {}
  Value* forward(const Scope& scope, Value* x) const;

 private:
  int64_t size_;
  double alpha_, beta_, k_;
};

}  // namespace thalweg::nn
