// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "thalweg/optimize.h"

namespace thalweg {

/// Gathers how well a model's answers agree with those of another, batch by batch.
class AgreementMeter {
 public:
  /// Outputs of both models for the same inputs. A pair of different types or shapes counts as no agreement.
  void add(const std::vector<Tensor>& expected, const std::vector<Tensor>& actual);
  Agreement result() const;

 private:
  struct Output {
    int64_t rows = 0, same_rows = 0;
    double error_squared = 0.0, squared = 0.0;
    double max_error = 0.0, max_element = 0.0;
    bool comparable = true;
  };
  static void add_output(const Tensor& expected, const Tensor& actual, Output& output);
  std::vector<Output> outputs_;
};

}  // namespace thalweg
