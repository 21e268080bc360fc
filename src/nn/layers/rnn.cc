// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/nn/rnn.h"

#include <cmath>

#include "thalweg/nn/dropout.h"
#include "thalweg/ops/shape.h"

namespace thalweg::nn {
namespace {

constexpr int64_t gates_of(RnnKind kind) { return kind == RnnKind::kLstm ? 4 : kind == RnnKind::kGru ? 3 : 1; }

constexpr const char* name_of(RnnKind kind) {
  return kind == RnnKind::kLstm ? "LSTM" : kind == RnnKind::kGru ? "GRU" : "RNN";
}

/// Entry `index` of [L, N, H]; null stays null.
Value* entry(Value* states, int64_t index) {
  if (states == nullptr) return nullptr;
  return ops::squeeze(ops::slice(states, {index}, {index + 1}, {0}), {0});
}

Value* stack(const std::vector<Value*>& entries) {
  std::vector<Value*> parts;
  for (Value* part : entries) parts.push_back(ops::unsqueeze(part, {0}));
  return parts.size() == 1 ? parts[0] : ops::concat(parts, 0);
}

}  // namespace

template <RnnKind kind>
ops::RnnWeights Recurrent<kind>::weights(const Scope& scope, int64_t layer, bool reverse) const {
  const std::string suffix = "_l" + std::to_string(layer) + (reverse ? "_reverse" : "");
  const int64_t rows = gates_of(kind) * hidden_;
  const int64_t columns = layer == 0 ? input_ : hidden_ * (options_.bidirectional ? 2 : 1);
  const double bound = 1.0 / std::sqrt(static_cast<double>(hidden_));
  const auto start = init::uniform(-bound, bound);
  ops::RnnWeights result;
  result.w_input = scope.parameter("weight_ih" + suffix, {rows, columns}, start);
  result.w_hidden = scope.parameter("weight_hh" + suffix, {rows, hidden_}, start);
  if (options_.bias) {
    result.b_input = scope.parameter("bias_ih" + suffix, {rows}, start);
    result.b_hidden = scope.parameter("bias_hh" + suffix, {rows}, start);
  }
  return result;
}

template <RnnKind kind>
ops::RnnOutputs Recurrent<kind>::direction(const Scope& scope, Value* x, const RnnState& initial, int64_t layer,
                                           bool reverse) const {
  const ops::RnnWeights w = weights(scope, layer, reverse);
  const int64_t index = options_.bidirectional ? 2 * layer + (reverse ? 1 : 0) : layer;
  Value* h = entry(initial.h, index);
  const std::string name = scope.name("l" + std::to_string(layer) + (reverse ? "_reverse" : ""));
  if constexpr (kind == RnnKind::kLstm) return ops::lstm(x, w, h, entry(initial.c, index), reverse, name);
  if constexpr (kind == RnnKind::kGru) return ops::gru(x, w, h, reverse, name);
  return ops::rnn(x, w, h, options_.nonlinearity, reverse, name);
}

template <RnnKind kind>
RnnResult Recurrent<kind>::run(const Scope& scope, Value* x, RnnState initial) const {
  const Shape& shape = x->shape();
  scope.require(shape.rank() == 3 && (shape[2] == input_ || shape[2] == kFree), name_of(kind), "takes ",
                options_.batch_first ? "[N, T, " : "[T, N, ", input_, "], got ", shape);
  scope.require(options_.num_layers >= 1, name_of(kind), "num_layers is ", options_.num_layers);
  if (!options_.batch_first) x = ops::transpose(x, {1, 0, 2});
  std::vector<Value*> h, c;
  for (int64_t layer = 0; layer < options_.num_layers; ++layer) {
    if (layer > 0) x = Dropout(options_.dropout).forward(scope.sub("dropout" + std::to_string(layer)), x);
    std::vector<Value*> sides;
    for (int side = 0; side < (options_.bidirectional ? 2 : 1); ++side) {
      const ops::RnnOutputs result = direction(scope, x, initial, layer, side == 1);
      sides.push_back(result.y);
      h.push_back(result.h_n);
      c.push_back(result.c_n);
    }
    x = sides.size() == 1 ? sides[0] : ops::concat(sides, 2);
  }
  if (!options_.batch_first) x = ops::transpose(x, {1, 0, 2});
  return {x, {stack(h), kind == RnnKind::kLstm ? stack(c) : nullptr}};
}

template class Recurrent<RnnKind::kLstm>;
template class Recurrent<RnnKind::kGru>;
template class Recurrent<RnnKind::kPlain>;

}  // namespace thalweg::nn
