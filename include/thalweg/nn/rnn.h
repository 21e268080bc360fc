// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/nn/conv.h"
#include "thalweg/ops/rnn.h"

namespace thalweg::nn {

struct RnnOptions {
  int64_t num_layers = 1;
  bool bias = true;
  /// Input and output are [N, T, ...] instead of [T, N, ...].
  bool batch_first = false;
  /// Between layers.
  double dropout = 0.0;
  bool bidirectional = false;
  /// Plain RNN only: tanh or relu.
  std::string nonlinearity = "tanh";
};

/// h and c are [num_layers * directions, N, hidden]; c is null but for LSTM.
struct RnnState {
  Value* h = nullptr;
  Value* c = nullptr;
};
struct RnnResult {
  Value* y;
  RnnState last;
};

enum class RnnKind { kLstm, kGru, kPlain };

/// Parameters weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, then ..._l0_reverse, ..._l1 and so on.
template <RnnKind kind>
class Recurrent {
 public:
  Recurrent(int64_t input_size, int64_t hidden_size, RnnOptions options = {})
      : input_(input_size), hidden_(hidden_size), options_(std::move(options)) {}
  /// The output of the last layer at every step.
  Value* forward(const Scope& scope, Value* x) const { return run(scope, x).y; }
  RnnResult run(const Scope& scope, Value* x, RnnState initial = {}) const;

 private:
  ops::RnnWeights weights(const Scope& scope, int64_t layer, bool reverse) const;
  ops::RnnOutputs direction(const Scope& scope, Value* x, const RnnState& initial, int64_t layer, bool reverse) const;
  int64_t input_, hidden_;
  RnnOptions options_;
};
using LSTM = Recurrent<RnnKind::kLstm>;
using GRU = Recurrent<RnnKind::kGru>;
using RNN = Recurrent<RnnKind::kPlain>;

/// Convolutional LSTM layer over [N, T, C, H, W]. Its one parameter pair is that of the cell's convolution:
/// conv.weight [4 * hidden, in + hidden, k, k] (gates i, f, g, o) and conv.bias. The kernel must be odd.
class ConvLSTM {
 public:
  ConvLSTM(int64_t in_channels, int64_t hidden_channels, int64_t kernel_size)
      : in_(in_channels), hidden_(hidden_channels), kernel_(kernel_size) {}

  struct Cell {
    Value* weight;
    Value* bias;
  };
  /// The parameters, for `step`.
  Cell cell(const Scope& scope) const;
  /// One step for x [N, C, H, W]; an empty state stands for zeros.
  ops::ConvLstmState step(const Scope& scope, const Cell& cell, Value* x, ops::ConvLstmState state) const;
  /// h at every step, [N, T, hidden, H, W].
  Value* forward(const Scope& scope, Value* x) const;

 private:
  int64_t in_, hidden_, kernel_;
};

/// Step `index` of a sequence [N, T, ...]: [N, ...].
Value* time_step(Value* x, int64_t index);
/// The reverse: joins [N, ...] into [N, T, ...].
Value* stack_time(const std::vector<Value*>& steps);

}  // namespace thalweg::nn
