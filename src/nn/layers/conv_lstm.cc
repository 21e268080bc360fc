// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "nn/layers/defaults.h"
#include "thalweg/nn/rnn.h"
#include "thalweg/ops/activation.h"
#include "thalweg/ops/conv.h"
#include "thalweg/ops/elementwise.h"
#include "thalweg/ops/shape.h"

namespace thalweg::nn {

Value* time_step(Value* x, int64_t index) { return ops::squeeze(ops::slice(x, {index}, {index + 1}, {1}), {1}); }

Value* stack_time(const std::vector<Value*>& steps) {
  std::vector<Value*> parts;
  for (Value* step : steps) parts.push_back(ops::unsqueeze(step, {1}));
  return parts.size() == 1 ? parts[0] : ops::concat(parts, 1);
}

ConvLSTM::Cell ConvLSTM::cell(const Scope& scope) const {
  scope.require(kernel_ % 2 == 1, "ConvLSTM", "the kernel must be odd to keep the extents, not ", kernel_);
  const Shape shape{4 * hidden_, in_ + hidden_, kernel_, kernel_};
  const Scope conv = scope.sub("conv");
  return {conv.parameter("weight", shape, weight_init_or_default({})),
          conv.parameter("bias", {4 * hidden_}, bias_init_or_default({}, shape))};
}

ops::ConvLstmState ConvLSTM::step(const Scope& scope, const Cell& cell, Value* x, ops::ConvLstmState state) const {
  scope.require(x->shape().rank() == 4 && x->shape()[1] == in_, "ConvLSTM", "a frame must be [N, ", in_,
                ", H, W], got ", x->shape());
  if (state.h != nullptr) return ops::conv_lstm_cell(x, state, cell.weight, cell.bias, scope.path());
  // From zeros: neither the hidden part of the weight nor the forget gate has anything to act on.
  const int64_t pad = kernel_ / 2;
  Value* weight = ops::slice(cell.weight, {0}, {in_}, {1});
  ops::ConvOptions options;
  options.pads = {pad, pad};
  Value* gates = ops::conv(x, weight, cell.bias, options, scope.path());
  const std::vector<Value*> parts = ops::split(gates, {hidden_, hidden_, hidden_, hidden_}, 1);
  Value* c = ops::mul(ops::sigmoid(parts[0]), ops::tanh(parts[2]));
  return {ops::mul(ops::sigmoid(parts[3]), ops::tanh(c)), c};
}

Value* ConvLSTM::forward(const Scope& scope, Value* x) const {
  scope.require(x->shape().rank() == 5 && x->shape()[1] >= 1, "ConvLSTM",
                "takes [N, T, C, H, W] with a known number of steps, got ", x->shape());
  const Cell parameters = cell(scope);
  ops::ConvLstmState state{nullptr, nullptr};
  std::vector<Value*> outputs;
  for (int64_t t = 0; t < x->shape()[1]; ++t) {
    state = step(scope, parameters, time_step(x, t), state);
    outputs.push_back(state.h);
  }
  return stack_time(outputs);
}

}  // namespace thalweg::nn
