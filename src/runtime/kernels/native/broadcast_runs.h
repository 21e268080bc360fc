// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "runtime/kernels/native/channel_cut.h"
#include "thalweg/tensor.h"

namespace thalweg {

/// Row-major operands broadcast to one shape, as runs of elements in which each operand either moves along with the
/// result or stays at one element.
template <size_t kOperands>
class BroadcastRuns {
 public:
  struct Run {
    int64_t result;  ///< first element
    std::array<int64_t, kOperands> operands;
    int64_t count;
  };

  BroadcastRuns(const Shape& result, const std::array<Shape, kOperands>& operands) {
    for (int i = 0; i < result.rank(); ++i) {
      if (result[i] == 1) continue;
      Dim dim{result[i], {}};
      for (size_t k = 0; k < kOperands; ++k) {
        const int own = i - (result.rank() - operands[k].rank());
        if (own >= 0 && operands[k][own] != 1) dim.stride[k] = operands[k].num_elements(own + 1, operands[k].rank());
      }
      append(dim);
    }
    if (dims_.empty()) dims_.push_back({1, {}});
    inner_ = dims_.back();
    dims_.pop_back();
  }

  /// The operand is one element throughout a run.
  bool stays(size_t operand) const { return inner_.stride[operand] == 0; }

  /// Calls `body(run)` for all runs, on several threads if there is enough to do.
  template <typename Body>
  void each(int threads, Body body) const {
    int64_t outer = 1;
    for (const Dim& dim : dims_) outer *= dim.size;
    const int64_t pieces = std::max<int64_t>(1, inner_.size / kParallelElements);
    const int used = outer * inner_.size < kParallelElements ? 1 : threads;
#pragma omp parallel for num_threads(used) schedule(static)
    for (int64_t i = 0; i < outer * pieces; ++i) {
      const Share part(inner_.size, i % pieces, pieces);
      Run run{i / pieces * inner_.size + part.begin, {}, part.end - part.begin};
      for (size_t k = 0; k < kOperands; ++k) run.operands[k] = part.begin * inner_.stride[k];
      int64_t rest = i / pieces;
      for (size_t d = dims_.size(); d-- > 0;) {
        for (size_t k = 0; k < kOperands; ++k) run.operands[k] += rest % dims_[d].size * dims_[d].stride[k];
        rest /= dims_[d].size;
      }
      body(run);
    }
  }

 private:
  struct Dim {
    int64_t size = 1;
    std::array<int64_t, kOperands> stride{};
  };

  /// Adds an inner dimension, joined with the one before where every operand goes on without a gap.
  void append(const Dim& dim) {
    const auto joins = [&](const Dim& before) {
      for (size_t k = 0; k < kOperands; ++k) {
        if (before.stride[k] != dim.stride[k] * dim.size) return false;
      }
      return true;
    };
    if (!dims_.empty() && joins(dims_.back())) {
      dims_.back().size *= dim.size;
      dims_.back().stride = dim.stride;
    } else {
      dims_.push_back(dim);
    }
  }

  std::vector<Dim> dims_;
  Dim inner_;
};

}  // namespace thalweg
