// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "model/classification.h"

#include <algorithm>
#include <cmath>

#include "ops/ids.h"
#include "thalweg/error.h"

namespace thalweg {
namespace {

void softmax(const float* scores, int64_t count, float* probabilities) {
  const double largest = *std::max_element(scores, scores + count);
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += std::exp(scores[i] - largest);
  for (int64_t i = 0; i < count; ++i) probabilities[i] = static_cast<float>(std::exp(scores[i] - largest) / sum);
}

float sigmoid(float score) { return static_cast<float>(1 / (1 + std::exp(-static_cast<double>(score)))); }

/// The probability of the second of two classes.
float second_of_two(float value, const std::string& made_by) {
  return made_by == op::kSigmoid || made_by == op::kSoftmax ? value : sigmoid(value);
}

}  // namespace

Classification classify(const Tensor& output, const std::string& made_by) {
  TW_REQUIRE(output.shape().rank() == 1 || output.shape().rank() == 2,
             "classes are read from an output [rows, classes], this one is ", output.type());
  const int64_t rows = output.shape()[0], given = output.shape().num_elements(1, output.shape().rank());
  TW_REQUIRE(given > 0, "there are no classes in an output ", output.type());
  const int64_t classes = std::max<int64_t>(2, given);
  const Tensor values = output.to(DType::kF32);
  Classification result{Tensor(DType::kF32, {rows, classes}), Tensor(DType::kI64, {rows})};
  for (int64_t row = 0; row < rows; ++row) {
    const float* in = values.data<float>() + row * given;
    float* out = result.probabilities.data<float>() + row * classes;
    if (given == 1) {
      out[1] = second_of_two(in[0], made_by);
      out[0] = 1 - out[1];
    } else if (made_by == op::kSoftmax || made_by == op::kSigmoid) {
      std::copy_n(in, classes, out);
    } else {
      softmax(in, classes, out);  // of logarithms of probabilities: these
    }
    result.classes.data<int64_t>()[row] = std::max_element(out, out + classes) - out;
  }
  return result;
}

}  // namespace thalweg
