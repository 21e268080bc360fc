// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "thalweg/graph.h"

namespace thalweg {

/// One function of an elementwise_chain. Its operands are numbers: below the number of the node's inputs an input,
/// above that the result of an earlier step.
struct ChainStep {
  /// An op of src/ops/unary.cc, or of src/ops/binary.h.
  std::string function;
  int left = 0;
  int right = -1;  ///< -1: the function has one operand
  /// The attributes of a function of one operand.
  double a = 0.0, b = 0.0;
};

/// The last step gives the result, which has the shape to which all inputs broadcast, as has every step's.
using ChainSteps = std::vector<ChainStep>;

ChainSteps chain_steps(const Attributes& attrs);
Attributes chain_attributes(const ChainSteps& steps);

}  // namespace thalweg
