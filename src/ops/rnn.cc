// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/rnn.h"

#include "graph/op_registry.h"
#include "ops/ids.h"
#include "ops/rnn_operands.h"
#include "thalweg/ops/activation.h"
#include "thalweg/ops/conv.h"
#include "thalweg/ops/elementwise.h"
#include "thalweg/ops/shape.h"

namespace thalweg {

RnnKind rnn_kind(const std::string& op) {
  if (op.rfind("lstm", 0) == 0) return RnnKind::kLstm;
  return op.rfind("gru", 0) == 0 ? RnnKind::kGru : RnnKind::kPlain;
}

int64_t gates_of(RnnKind kind) { return kind == RnnKind::kLstm ? 4 : kind == RnnKind::kGru ? 3 : 1; }

namespace {

bool fits(int64_t a, int64_t b) { return a == b || a == kFree || b == kFree; }

void require_shape(const InferContext& context, size_t index, const char* what, const Shape& expected) {
  if (!context.has(index)) return;
  const Shape& shape = context.shape(index);
  bool same = shape.rank() == expected.rank();
  for (int i = 0; same && i < shape.rank(); ++i) same = fits(shape[i], expected[i]);
  context.require(same, what, " has shape ", shape, ", not ", expected);
  context.require(context.dtype(index) == context.dtype(0), what, " has another element type");
}

InferRule infer_rnn(RnnKind kind) {
  return [kind](const InferContext& context) {
    context.require_rank(RnnInput::kX, 3);
    context.require_rank(RnnInput::kWHidden, 2);
    const Shape& x = context.shape(RnnInput::kX);
    const int64_t hidden = context.shape(RnnInput::kWHidden)[1];
    const int64_t all = gates_of(kind) * hidden;
    require_shape(context, RnnInput::kWInput, "the input weight", {all, x[2]});
    require_shape(context, RnnInput::kWHidden, "the hidden weight", {all, hidden});
    require_shape(context, RnnInput::kBInput, "the input bias", {all});
    require_shape(context, RnnInput::kBHidden, "the hidden bias", {all});
    require_shape(context, RnnInput::kH0, "the first hidden state", {x[0], hidden});
    require_shape(context, RnnInput::kC0, "the first cell state", {x[0], hidden});
    const DType dtype = context.dtype(0);
    std::vector<TensorType> types{{dtype, {x[0], x[1], hidden}}, {dtype, {x[0], hidden}}, {dtype, {x[0], x[1], all}}};
    if (kind != RnnKind::kPlain) types.push_back({dtype, {x[0], x[1], hidden}});
    if (kind == RnnKind::kLstm) types.push_back({dtype, {x[0], hidden}});
    return types;
  };
}

void rnn_gradient(GradientContext& context) {
  const RnnKind kind = rnn_kind(context.node().op_name());
  std::vector<Value*> inputs(RnnGradInput::kCount, nullptr);
  inputs[RnnGradInput::kX] = context.input(RnnInput::kX);
  inputs[RnnGradInput::kWInput] = context.input(RnnInput::kWInput);
  inputs[RnnGradInput::kWHidden] = context.input(RnnInput::kWHidden);
  inputs[RnnGradInput::kH0] = context.input(RnnInput::kH0);
  inputs[RnnGradInput::kC0] = context.input(RnnInput::kC0);
  inputs[RnnGradInput::kY] = context.output(RnnOutput::kY);
  inputs[RnnGradInput::kGates] = context.output(RnnOutput::kGates);
  inputs[RnnGradInput::kDy] = context.output_gradient(RnnOutput::kY);
  inputs[RnnGradInput::kDhN] = context.output_gradient(RnnOutput::kHN);
  if (kind != RnnKind::kPlain) inputs[RnnGradInput::kExtra] = context.output(RnnOutput::kExtra);
  if (kind == RnnKind::kLstm) inputs[RnnGradInput::kDcN] = context.output_gradient(RnnOutput::kCN);
  Attributes attrs = context.attrs();
  attrs.set("data", static_cast<int64_t>(context.wants(RnnInput::kX)));
  const Node* node = context.graph().add(context.node().op_name() + "_grad", std::move(inputs), std::move(attrs));
  constexpr std::pair<size_t, size_t> kPairs[] = {{RnnInput::kX, RnnGradOutput::kDx},
                                                  {RnnInput::kWInput, RnnGradOutput::kDwInput},
                                                  {RnnInput::kWHidden, RnnGradOutput::kDwHidden},
                                                  {RnnInput::kBInput, RnnGradOutput::kDbInput},
                                                  {RnnInput::kBHidden, RnnGradOutput::kDbHidden},
                                                  {RnnInput::kH0, RnnGradOutput::kDh0},
                                                  {RnnInput::kC0, RnnGradOutput::kDc0}};
  for (const auto& [input, output] : kPairs) {
    if (context.wants(input)) context.set(input, node->output(output));
  }
}

InferRule infer_rnn_grad(RnnKind kind) {
  return [kind](const InferContext& context) {
    const TensorType& x = context.type(RnnGradInput::kX);
    const TensorType& w_input = context.type(RnnGradInput::kWInput);
    const TensorType& w_hidden = context.type(RnnGradInput::kWHidden);
    const TensorType bias{x.dtype, {w_input.shape[0]}};
    const TensorType state{x.dtype, {x.shape[0], w_hidden.shape[1]}};
    std::vector<TensorType> types{x, w_input, w_hidden, bias, bias, state};
    // Without a taker the data gradient is left out: it may be the largest product of all.
    if (!context.attrs().flag("data")) types[RnnGradOutput::kDx].shape = Shape{1};
    if (kind == RnnKind::kLstm) types.push_back(state);
    return types;
  };
}

std::vector<AttributeDef> attributes_of(RnnKind kind, bool gradient) {
  std::vector<AttributeDef> all{attr::flag("reverse", "from the last time to the first")};
  if (kind == RnnKind::kPlain) {
    all.push_back(attr::text("activation", op::kTanh.name, "of the new state").one_of({op::kTanh, op::kRelu}));
  }
  if (gradient) all.push_back(attr::flag("data", "also gives the gradient of x", true));
  return all;
}

/// One op and its gradient for each kind.
struct RegisterRnn {
  RegisterRnn(OpId op, OpId gradient, const char* doc) {
    const RnnKind kind = rnn_kind(op);
    RegisterOp(op, {3, RnnInput::kCount}, doc, infer_rnn(kind), rnn_gradient, attributes_of(kind, false));
    RegisterOp(gradient, {RnnGradInput::kGates + 1, RnnGradInput::kCount}, "", infer_rnn_grad(kind), nullptr,
               attributes_of(kind, true));
  }
};
const RegisterRnn kLstm(op::kLstm, op::kLstmGrad, "A layer of LSTM cells over [N, T, I].");
const RegisterRnn kGru(op::kGru, op::kGruGrad, "A layer of GRU cells over [N, T, I].");
const RegisterRnn kRnn(op::kRnn, op::kRnnGrad, "A layer of plain recurrent cells over [N, T, I].");

ops::RnnOutputs add_rnn(OpId op, Value* x, const ops::RnnWeights& weights, Value* h_0, Value* c_0, Attributes attrs,
                        const std::string& name) {
  const Node* node = x->graph().add(
      op, {x, weights.w_input, weights.w_hidden, weights.b_input, weights.b_hidden, h_0, c_0}, std::move(attrs), name);
  const bool has_cell = node->outputs().size() > RnnOutput::kCN;
  return {node->output(RnnOutput::kY), node->output(RnnOutput::kHN), has_cell ? node->output(RnnOutput::kCN) : nullptr};
}

Attributes direction(bool reverse) {
  Attributes attrs;
  if (reverse) attrs.set("reverse", int64_t{1});
  return attrs;
}

}  // namespace

namespace ops {

RnnOutputs lstm(Value* x, const RnnWeights& weights, Value* h_0, Value* c_0, bool reverse, const std::string& name) {
  return add_rnn(op::kLstm, x, weights, h_0, c_0, direction(reverse), name);
}

RnnOutputs gru(Value* x, const RnnWeights& weights, Value* h_0, bool reverse, const std::string& name) {
  return add_rnn(op::kGru, x, weights, h_0, nullptr, direction(reverse), name);
}

RnnOutputs rnn(Value* x, const RnnWeights& weights, Value* h_0, const std::string& activation, bool reverse,
               const std::string& name) {
  Attributes attrs = direction(reverse);
  attrs.set("activation", activation);
  return add_rnn(op::kRnn, x, weights, h_0, nullptr, std::move(attrs), name);
}

ConvLstmState conv_lstm_cell(Value* x, ConvLstmState state, Value* weight, Value* bias, const std::string& name) {
  const int64_t hidden = weight->shape()[0] / 4;
  ConvOptions options;
  for (int i = 2; i < weight->shape().rank(); ++i) {
    TW_REQUIRE(weight->shape()[i] % 2 == 1, "conv_lstm_cell '", name, "': a kernel of even size ", weight->shape()[i],
               " does not keep the size of the image");
    options.pads.push_back(weight->shape()[i] / 2);
  }
  Value* gates = conv(concat({x, state.h}, 1), weight, bias, options, name);
  const std::vector<Value*> parts = split(gates, {hidden, hidden, hidden, hidden}, 1);
  Value* c = add(mul(sigmoid(parts[1]), state.c), mul(sigmoid(parts[0]), tanh(parts[2])));
  return {mul(sigmoid(parts[3]), tanh(c)), c};
}

}  // namespace ops
}  // namespace thalweg
