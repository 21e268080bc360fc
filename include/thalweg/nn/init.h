// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "thalweg/tensor.h"

/// How parameters start. Every element depends on the key and its index alone, never on threads or on what was drawn
/// before; a Scope makes the key of a parameter from its seed and the parameter's name.
namespace thalweg::nn::init {

using Initializer = std::function<Tensor(const Shape& shape, uint64_t key)>;

enum class Fan { kIn, kOut };

Initializer constant(double value);
Initializer zeros();
Initializer ones();
/// In [low, high).
Initializer uniform(double low, double high);
Initializer normal(double mean = 0.0, double stddev = 1.0);
/// A normal distribution cut to [mean + low * stddev, mean + high * stddev].
Initializer truncated_normal(double mean = 0.0, double stddev = 1.0, double low = -2.0, double high = 2.0);
Initializer xavier_uniform(double gain = 1.0);
Initializer xavier_normal(double gain = 1.0);
/// `negative_slope` is that of the leaky ReLU which follows; sqrt(5) is what PyTorch's layers start from.
Initializer kaiming_uniform(double negative_slope = 0.0, Fan fan = Fan::kIn);
Initializer kaiming_normal(double negative_slope = 0.0, Fan fan = Fan::kIn);
/// Weights [C, O, k, k] of a transposed convolution that interpolates linearly.
Initializer bilinear();

/// What a matrix or convolution weight [out, in, kernel...] connects. Throws below rank 2.
int64_t fan_in(const Shape& shape);
int64_t fan_out(const Shape& shape);

/// The key of a parameter.
uint64_t key_of(uint64_t seed, const std::string& name);

}  // namespace thalweg::nn::init
