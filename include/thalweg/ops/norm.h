// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/graph.h"

namespace thalweg::ops {

struct BatchNormOutputs {
  Value* y;
  /// Statistics of this batch, f32 [C]; the variance is the biased one.
  Value* mean;
  Value* variance;
};
/// Normalises x [N, C, ...] by the statistics of the batch. `residual` (or null) is added after normalising and before
/// `activation` ("" or "relu"). Scale and shift are f32 [C].
BatchNormOutputs batch_norm(Value* x, Value* scale, Value* shift, Value* residual = nullptr, double epsilon = 1e-5,
                            const std::string& activation = "", const std::string& name = "");
/// Normalises by given statistics: y = (x - mean) / sqrt(variance + epsilon) * scale + shift.
Value* batch_norm_inference(Value* x, Value* scale, Value* shift, Value* mean, Value* variance, double epsilon = 1e-5,
                            const std::string& name = "");
/// Over the dimensions from `axis` on; scale and shift (or null) have their shape.
Value* layer_norm(Value* x, Value* scale, Value* shift, int64_t axis = -1, double epsilon = 1e-5,
                  const std::string& name = "");
/// Channels in `groups` groups; scale and shift (or null) are [C]. groups == C is instance normalisation.
Value* group_norm(Value* x, Value* scale, Value* shift, int64_t groups, double epsilon = 1e-5,
                  const std::string& name = "");

Value* softmax(Value* x, int64_t axis = -1, const std::string& name = "");
Value* log_softmax(Value* x, int64_t axis = -1, const std::string& name = "");

/// Cross entropy of logits [N, C, ...] against class numbers [N, ...] (i64 or i32): losses [N, ...], f32 even for
/// two-byte logits. Rows whose label is `ignore_index` give 0. A label outside [0, C) is an error that names the row.
Value* softmax_cross_entropy(Value* logits, Value* labels, int64_t ignore_index = -100, double label_smoothing = 0.0,
                             const std::string& name = "");

/// In training: zeroes elements with `probability` and scales the rest; the same seed, step and shape give the same
/// mask.
Value* dropout(Value* x, double probability, int64_t seed, const std::string& name = "");
/// In training: adds to each element a normal number of that standard deviation; repeatable as dropout is.
Value* gaussian_noise(Value* x, double deviation, int64_t seed, const std::string& name = "");

}  // namespace thalweg::ops
