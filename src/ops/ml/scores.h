// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// What the classic models of ai.onnx.ml share: names of classes, and what becomes of a row of scores.
#pragma once

#include <string>
#include <vector>

#include "graph/host_op.h"

namespace thalweg::ml {

/// The names of classes, integers or texts.
class Labels {
 public:
  /// Attributes called "classlabels_strings" and that of this name.
  Labels(const HostContext& call, const char* integers);

  size_t size() const { return texts_.empty() ? integers_.size() : texts_.size(); }
  /// Of classes by their numbers; without names those themselves.
  Tensor of(const std::vector<int64_t>& classes) const;

 private:
  std::vector<std::string> texts_;
  std::vector<int64_t> integers_;
};

/// The attribute "post_transform".
enum class Transform { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };
Transform transform_of(const HostContext& call);
Transform transform_from(int64_t number);
void apply(Transform transform, std::vector<float>& scores);

float logistic(float x);

/// A list of numbers of an attribute; empty if there is none.
std::vector<float> floats(const HostContext& call, const std::string& name);
/// Of two vectors, summed in double precision.
float product(const float* a, const float* b, int64_t count);

/// Rows of features as f32: x [N, C], or [C] as one row.
struct Rows {
  Tensor values;
  int64_t count, width;
  const float* row(int64_t index) const { return values.data<float>() + index * width; }
};
Rows rows_of(const Tensor& x);

/// The place of the largest, the first of several.
int64_t largest(const std::vector<float>& scores);

/// Rows of equal length as a tensor [N, width].
Tensor stacked(const std::vector<std::vector<float>>& rows, int64_t width);

}  // namespace thalweg::ml
