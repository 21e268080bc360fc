// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "thalweg/tensor.h"

namespace thalweg {

/// What a model says about the class of each row.
struct Classification {
  /// f32 [rows, classes].
  Tensor probabilities;
  /// i64 [rows]: the most probable.
  Tensor classes;
};

/// Reads an output [rows, classes] as classes. `made_by` is the operator that it comes from: the answers of Softmax and
/// Sigmoid are probabilities already, those of LogSoftmax their logarithms; all others are scores. A single element in
/// a row speaks for the second of two classes.
Classification classify(const Tensor& output, const std::string& made_by);

}  // namespace thalweg
