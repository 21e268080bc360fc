// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "ops/elementwise_chain.h"
#include "ops/unary.h"
#include "runtime/kernels/simd/elementwise.h"

namespace thalweg {

/// The functions of a chain over f32 elements that lie side by side, some at a time, so that what passes from one
/// function to the next stays in the first cache.
class ChainLoop {
 public:
  ChainLoop(const ChainSteps& steps, size_t num_inputs);

  struct Operand {
    const float* data = nullptr;
    bool one = false;  ///< the same element for all
  };

  /// Of scratch, for one call of `run` at a time.
  size_t scratch_floats() const { return static_cast<size_t>(num_slots_) * kTile; }
  /// `operands` are the inputs; the result may be written over one of them.
  void run(const Operand* operands, float* result, int64_t count, float* scratch) const;

  int64_t num_steps() const { return static_cast<int64_t>(steps_.size()); }

 private:
  static constexpr int64_t kTile = 1024;
  /// Where a step's operand is: an input, or a slot of scratch.
  struct Place {
    int input = -1;
    int slot = -1;
  };
  struct Step {
    bool binary = false;
    simd::Function function{};
    simd::BinaryFunction pair{};
    /// For functions without a loop; null for the others.
    UnaryScalar plain = nullptr;
    double a = 0.0, b = 0.0;
    Place left, right;
    int slot = -1;  ///< of the result; -1: it is the chain's
  };
  void run_step(const Step& step, Operand left, Operand right, float* result, int64_t count) const;

  std::vector<Step> steps_;
  int num_slots_ = 0;
};

}  // namespace thalweg
