// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/nn/scope.h"
#include "thalweg/ops/activation.h"
#include "thalweg/ops/elementwise.h"
#include "thalweg/ops/norm.h"

/// Activations as layers; names, arguments and defaults are PyTorch's.
namespace thalweg::nn {

struct ReLU {
  Value* forward(const Scope& scope, Value* x) const { return ops::relu(x, scope.path()); }
};
struct ReLU6 {
  Value* forward(const Scope&, Value* x) const { return ops::clip(x, 0, 6); }
};
struct LeakyReLU {
  double negative_slope = 0.01;
  Value* forward(const Scope&, Value* x) const { return ops::leaky_relu(x, negative_slope); }
};
/// weight: one slope, or one per channel.
struct PReLU {
  int64_t num_parameters = 1;
  double init = 0.25;
  Value* forward(const Scope& scope, Value* x) const;
};
/// The leaky ReLU with the mean slope of [lower, upper]: RReLU as it infers.
struct RReLU {
  double lower = 1.0 / 8;
  double upper = 1.0 / 3;
  Value* forward(const Scope&, Value* x) const { return ops::leaky_relu(x, (lower + upper) / 2); }
};
struct ELU {
  double alpha = 1.0;
  Value* forward(const Scope&, Value* x) const { return ops::elu(x, alpha); }
};
struct SELU {
  Value* forward(const Scope&, Value* x) const { return ops::selu(x); }
};
struct CELU {
  double alpha = 1.0;
  Value* forward(const Scope&, Value* x) const { return ops::celu(x, alpha); }
};
struct GELU {
  /// none or tanh.
  std::string approximate = "none";
  Value* forward(const Scope& scope, Value* x) const {
    scope.require(approximate == "none" || approximate == "tanh", "GELU", "approximate is '", approximate,
                  "', not none or tanh");
    return ops::gelu(x, approximate == "tanh");
  }
};
struct SiLU {
  Value* forward(const Scope&, Value* x) const { return ops::silu(x); }
};
struct Mish {
  Value* forward(const Scope&, Value* x) const { return ops::mish(x); }
};
struct Sigmoid {
  Value* forward(const Scope&, Value* x) const { return ops::sigmoid(x); }
};
struct LogSigmoid {
  Value* forward(const Scope&, Value* x) const { return ops::log_sigmoid(x); }
};
struct Hardsigmoid {
  Value* forward(const Scope&, Value* x) const { return ops::hard_sigmoid(x); }
};
struct Hardswish {
  Value* forward(const Scope&, Value* x) const { return ops::hard_swish(x); }
};
struct Hardtanh {
  double min_val = -1.0;
  double max_val = 1.0;
  Value* forward(const Scope&, Value* x) const { return ops::clip(x, min_val, max_val); }
};
struct Tanh {
  Value* forward(const Scope&, Value* x) const { return ops::tanh(x); }
};
struct Softplus {
  double beta = 1.0;
  Value* forward(const Scope&, Value* x) const { return ops::softplus(x, beta); }
};
struct Softsign {
  Value* forward(const Scope&, Value* x) const { return ops::softsign(x); }
};
struct Hardshrink {
  double lambda = 0.5;
  Value* forward(const Scope&, Value* x) const { return ops::hard_shrink(x, lambda); }
};
struct Softshrink {
  double lambda = 0.5;
  Value* forward(const Scope&, Value* x) const { return ops::soft_shrink(x, lambda); }
};
struct Tanhshrink {
  Value* forward(const Scope&, Value* x) const { return ops::tanh_shrink(x); }
};
struct Threshold {
  double threshold;
  double value;
  Value* forward(const Scope&, Value* x) const { return ops::threshold(x, threshold, value); }
};
struct Softmax {
  int64_t dim = -1;
  Value* forward(const Scope& scope, Value* x) const { return ops::softmax(x, dim, scope.path()); }
};
struct LogSoftmax {
  int64_t dim = -1;
  Value* forward(const Scope& scope, Value* x) const { return ops::log_softmax(x, dim, scope.path()); }
};
struct Softmin {
  int64_t dim = -1;
  Value* forward(const Scope& scope, Value* x) const { return ops::softmax(ops::neg(x), dim, scope.path()); }
};
/// a * sigmoid(b) for the two halves of dimension `dim`.
struct GLU {
  int64_t dim = -1;
  Value* forward(const Scope& scope, Value* x) const;
};

/// An activation by its lower-case name ("relu", "gelu", "tanh", ...); "" is the identity. An unknown name is an error
/// that lists the nearest ones.
Value* activate(const Scope& scope, const std::string& name, Value* x);

}  // namespace thalweg::nn
