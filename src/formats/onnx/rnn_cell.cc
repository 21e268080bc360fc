// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/rnn_cell.h"

#include "graph/op_registry.h"
#include "thalweg/ops.h"

namespace thalweg::onnx {
namespace {

Value* range(Value* x, int64_t begin, int64_t end) { return ops::slice(x, {begin}, {end}, {-1}); }

Value* plus(Value* x, Value* bias) { return bias != nullptr ? ops::add(x, bias) : x; }

}  // namespace

RnnCell::RnnCell(const NodeContext& context, RnnKind kind, const RnnWeights& weights,
                 const std::vector<std::string>& activations)
    : context_(context),
      kind_(kind),
      weights_(weights),
      activations_(activations),
      alpha_(context.reals("activation_alpha")),
      beta_(context.reals("activation_beta")) {
  if (weights.b == nullptr) return;
  const int64_t half = gates_of(kind) * weights.hidden;
  input_bias_ = range(weights.b, 0, half);
  hidden_bias_ = range(weights.b, half, 2 * half);
}

Value* RnnCell::gate(Value* all, int64_t index) const {
  return all == nullptr ? nullptr : range(all, index * weights_.hidden, (index + 1) * weights_.hidden);
}

Value* RnnCell::activate(size_t index, Value* x) const {
  if (context_.has_attribute("clip")) {
    const double clip = context_.real("clip", 0.0);
    x = ops::clip(x, -clip, clip);
  }
  const std::string& name = activations_[index];
  const auto argument = [&](const std::vector<double>& given, double usual) {
    return index < given.size() ? given[index] : usual;
  };
  if (name == "Affine") return ops::add(ops::mul(x, argument(alpha_, 1.0)), argument(beta_, 0.0));
  if (name == "ScaledTanh") return ops::mul(ops::tanh(ops::mul(x, argument(beta_, 1.0))), argument(alpha_, 1.0));
  const OpDef* op = op_of_onnx("", name);
  if (op != nullptr && op->has(Trait::kActivation)) {
    Attributes attrs;
    for (const AttributeDef& attribute : op->attributes) {
      if (attribute.only_ours) continue;
      const auto& given = attribute.onnx_name() == "alpha" ? alpha_ : beta_;
      if (index < given.size() || attribute.onnx_usual.has_value()) {
        attrs.set(attribute.name, index < given.size() ? given[index] : *attribute.onnx_usual);
      }
    }
    return context_.graph().add(op->name, {x}, attrs)->output();
  }
  context_.unsupported("unknown activation '", name, "'");
}

RnnState RnnCell::lstm(Value* x, const RnnState& state) const {
  Value* all = plus(ops::matmul(x, weights_.w, false, true), input_bias_);
  all = ops::add(all, plus(ops::matmul(state.h, weights_.r, false, true), hidden_bias_));
  const auto peep = [&](Value* value, int64_t index, Value* cell) {
    Value* weight = gate(weights_.peepholes, index);
    return weight != nullptr ? ops::add(value, ops::mul(weight, cell)) : value;
  };
  Value* i = activate(0, peep(gate(all, 0), 0, state.c));
  Value* f = context_.flag("input_forget", false) ? ops::rsub(1.0, i) : activate(0, peep(gate(all, 2), 2, state.c));
  Value* c = ops::add(ops::mul(f, state.c), ops::mul(i, activate(1, gate(all, 3))));
  Value* o = activate(0, peep(gate(all, 1), 1, c));
  return {ops::mul(o, activate(2, c)), c};
}

RnnState RnnCell::gru(Value* x, const RnnState& state) const {
  Value* from_input = plus(ops::matmul(x, weights_.w, false, true), input_bias_);
  Value* from_hidden = plus(ops::matmul(state.h, weights_.r, false, true), hidden_bias_);
  Value* z = activate(0, ops::add(gate(from_input, 0), gate(from_hidden, 0)));
  Value* r = activate(0, ops::add(gate(from_input, 1), gate(from_hidden, 1)));
  Value* candidate = nullptr;
  if (context_.flag("linear_before_reset", false)) {
    candidate = ops::mul(r, gate(from_hidden, 2));
  } else {
    const int64_t hidden = weights_.hidden;
    Value* weight = ops::slice(weights_.r, {2 * hidden}, {3 * hidden}, {0});
    candidate = plus(ops::matmul(ops::mul(r, state.h), weight, false, true), gate(hidden_bias_, 2));
  }
  Value* n = activate(1, ops::add(gate(from_input, 2), candidate));
  return {ops::add(ops::mul(ops::rsub(1.0, z), n), ops::mul(z, state.h)), state.c};
}

RnnState RnnCell::plain(Value* x, const RnnState& state) const {
  Value* sum = plus(ops::matmul(x, weights_.w, false, true), input_bias_);
  sum = ops::add(sum, plus(ops::matmul(state.h, weights_.r, false, true), hidden_bias_));
  return {activate(0, sum), state.c};
}

RnnState RnnCell::step(Value* x, const RnnState& state) const {
  if (kind_ == RnnKind::kLstm) return lstm(x, state);
  return kind_ == RnnKind::kGru ? gru(x, state) : plain(x, state);
}

}  // namespace thalweg::onnx
