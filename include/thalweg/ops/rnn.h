// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/graph.h"

namespace thalweg::ops {

/// Weights of one direction, PyTorch's order and meaning: w_input [G*H, I], w_hidden [G*H, H], biases [G*H] or null.
/// Gates: LSTM i, f, g, o; GRU r, z, n; plain RNN one.
struct RnnWeights {
  Value* w_input = nullptr;
  Value* w_hidden = nullptr;
  Value* b_input = nullptr;
  Value* b_hidden = nullptr;
};
struct RnnOutputs {
  Value* y;    ///< [N, T, H]
  Value* h_n;  ///< [N, H]
  Value* c_n;  ///< LSTM only, else null
};
/// One layer in one direction over x [N, T, I] (batch first). h_0 and c_0 are [N, H] or null for zeros. Layers stack
/// and directions join by composition (nn::LSTM does both).
RnnOutputs lstm(Value* x, const RnnWeights& weights, Value* h_0 = nullptr, Value* c_0 = nullptr, bool reverse = false,
                const std::string& name = "");
RnnOutputs gru(Value* x, const RnnWeights& weights, Value* h_0 = nullptr, bool reverse = false,
               const std::string& name = "");
/// `activation`: tanh or relu.
RnnOutputs rnn(Value* x, const RnnWeights& weights, Value* h_0 = nullptr, const std::string& activation = "tanh",
               bool reverse = false, const std::string& name = "");

/// Convolutional LSTM cell by composition of conv and elementwise ops: one step. Weight [4*H, C+H, k, k], gates i, f,
/// g, o.
struct ConvLstmState {
  Value* h;
  Value* c;
};
ConvLstmState conv_lstm_cell(Value* x, ConvLstmState state, Value* weight, Value* bias, const std::string& name = "");

}  // namespace thalweg::ops
