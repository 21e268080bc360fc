// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/ids.h"
#include "ops/rnn_operands.h"
#include "thalweg/graph.h"

namespace thalweg {

/// The sizes of a recurrent node (or its gradient) that its kernels need.
struct RnnSizes {
  RnnKind kind = RnnKind::kPlain;
  int64_t batch = 0, steps = 0, inputs = 0, hidden = 0, gates = 0;
  bool reverse = false, relu = false;

  RnnSizes() = default;
  RnnSizes(const Node& node, const Shape& x, const Shape& w_hidden)
      : kind(rnn_kind(node.op_name())),
        batch(x[0]),
        steps(x[1]),
        inputs(x[2]),
        hidden(w_hidden[1]),
        gates(w_hidden[0]),
        reverse(node.attrs().flag("reverse")),
        relu(node.attrs().text("activation") == op::kRelu) {}

  /// The time that is `step`-th in the order of computation.
  int64_t time(int64_t step) const { return reverse ? steps - 1 - step : step; }
  /// Row of [N * T] for a sequence at a step.
  int64_t row(int64_t sequence, int64_t step) const { return sequence * steps + time(step); }
};

/// Cuts scratch memory into pieces that begin at cache lines.
class ScratchCutter {
 public:
  size_t add(int64_t floats) {
    const size_t offset = bytes_;
    bytes_ += (static_cast<size_t>(floats) * sizeof(float) + 63) / 64 * 64;
    return offset;
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

inline float* at_offset(void* scratch, size_t offset) {
  return reinterpret_cast<float*>(static_cast<char*>(scratch) + offset);
}

}  // namespace thalweg
