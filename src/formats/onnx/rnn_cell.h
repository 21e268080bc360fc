// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "formats/onnx/converter.h"
#include "ops/rnn_operands.h"

namespace thalweg::onnx {

/// Weights of one direction as ONNX has them: w [G*H, I], r [G*H, H], b [2*G*H] or null, peepholes [3*H] or null; gates
/// i, o, f, c for LSTM and z, r, h for GRU.
struct RnnWeights {
  Value* w = nullptr;
  Value* r = nullptr;
  Value* b = nullptr;
  Value* peepholes = nullptr;
  int64_t hidden = 0;
};

struct RnnState {
  Value* h;
  Value* c;
};

/// One step of a recurrent layer, built from elementary ops: every variant that ONNX knows.
class RnnCell {
 public:
  RnnCell(const NodeContext& context, RnnKind kind, const RnnWeights& weights,
          const std::vector<std::string>& activations);

  /// x [N, I] and the state before, [N, H] each; gives the state after. Only LSTM has a cell.
  RnnState step(Value* x, const RnnState& state) const;

 private:
  RnnState lstm(Value* x, const RnnState& state) const;
  RnnState gru(Value* x, const RnnState& state) const;
  RnnState plain(Value* x, const RnnState& state) const;
  /// Gate `index` of a value [N, G*H], or of a vector [G*H].
  Value* gate(Value* all, int64_t index) const;
  Value* activate(size_t index, Value* x) const;

  const NodeContext& context_;
  RnnKind kind_;
  RnnWeights weights_;
  std::vector<std::string> activations_;
  std::vector<double> alpha_, beta_;
  Value* input_bias_ = nullptr;
  Value* hidden_bias_ = nullptr;
};

}  // namespace thalweg::onnx
