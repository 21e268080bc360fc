// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "model/output_comparison.h"
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
    OutputComparison comparison;
    bool comparable = true;
  };
  std::vector<Output> outputs_;
};

}  // namespace thalweg
