// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/nn/scope.h"

/// Active in training only: to_inference removes them.
namespace thalweg::nn {

class Dropout {
 public:
  explicit Dropout(double p = 0.5) : p_(p) {}
  Value* forward(const Scope& scope, Value* x) const;

 private:
  double p_;
};

/// Drops whole channels of [N, C, ...].
class SpatialDropout {
 public:
  explicit SpatialDropout(double p = 0.5) : p_(p) {}
  Value* forward(const Scope& scope, Value* x) const;

 private:
  double p_;
};
using Dropout1d = SpatialDropout;
using Dropout2d = SpatialDropout;
using Dropout3d = SpatialDropout;

/// Keeps mean and variance of SELU networks.
class AlphaDropout {
 public:
  explicit AlphaDropout(double p = 0.5) : p_(p) {}
  Value* forward(const Scope& scope, Value* x) const;

 private:
  double p_;
};

/// Adds normal numbers of the given standard deviation.
class GaussianNoise {
 public:
  explicit GaussianNoise(double deviation) : deviation_(deviation) {}
  Value* forward(const Scope& scope, Value* x) const;

 private:
  double deviation_;
};

/// Multiplies by normal numbers of mean 1 and the variance p / (1 - p) that Dropout's factors have.
class GaussianDropout {
 public:
  explicit GaussianDropout(double p = 0.5) : p_(p) {}
  Value* forward(const Scope& scope, Value* x) const;

 private:
  double p_;
};

}  // namespace thalweg::nn
