// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Recurrent layers. What the engine's own layers can do runs on them; anything else (peepholes, other activations,
// sequences of different lengths, ...) is unrolled, step by step.
#include <algorithm>
#include <numeric>

#include "formats/onnx/import_common.h"
#include "formats/onnx/rnn_cell.h"
#include "ops/ids.h"
#include "ops/rnn_operands.h"
#include "thalweg/ops.h"

namespace thalweg::onnx {
namespace {

/// Everything a direction needs, batch first: x [N, T, I], weights of this direction alone.
struct Direction {
  RnnWeights weights;
  Value* x = nullptr;
  Value* h = nullptr;  ///< first state [N, H] or null
  Value* c = nullptr;
  Value* lengths = nullptr;
  bool reverse = false;
  std::vector<std::string> activations;
};

struct Result {
  Value* y;  ///< [N, T, H]
  Value* h;
  Value* c;  ///< null but for LSTM
};

/// Rows [begin, begin + count) of a block of gates.
Value* rows(Value* x, int64_t begin, int64_t count) { return ops::slice(x, {begin}, {begin + count}, {0}); }

/// ONNX's gates in the engine's order: `order[i]` is the place in ONNX of gate i.
Value* reordered(Value* x, int64_t hidden, const std::vector<int64_t>& order) {
  std::vector<Value*> parts;
  for (const int64_t gate : order) parts.push_back(rows(x, gate * hidden, hidden));
  return parts.size() > 1 ? ops::concat(parts, 0) : parts[0];
}

/// ONNX has i, o, f, c; z, r, h.
std::vector<int64_t> engine_order(RnnKind kind) {
  if (kind == RnnKind::kLstm) return {0, 2, 3, 1};
  return kind == RnnKind::kGru ? std::vector<int64_t>{1, 0, 2} : std::vector<int64_t>{0};
}

bool engine_can(const NodeContext& context, RnnKind kind, const Direction& direction) {
  std::vector<std::string> usual = {"Sigmoid", "Tanh", "Tanh"};
  if (kind == RnnKind::kGru) usual = {"Sigmoid", "Tanh"};
  if (kind == RnnKind::kPlain) usual = {"Tanh"};
  const bool relu = kind == RnnKind::kPlain && direction.activations == std::vector<std::string>{"Relu"};
  const bool turns = direction.lengths == nullptr || direction.x->shape()[1] > 0;
  return (direction.activations == usual || relu) && turns && direction.weights.peepholes == nullptr &&
         !context.has_attribute("clip") && !context.flag("input_forget", false) &&
         (kind != RnnKind::kGru || context.flag("linear_before_reset", false)) && direction.x->dtype() == DType::kF32;
}

/// All sequences at full length, whatever theirs is.
ops::RnnOutputs run_whole(const NodeContext& context, RnnKind kind, const Direction& direction, bool reverse) {
  const std::vector<int64_t> order = engine_order(kind);
  const RnnWeights& from = direction.weights;
  const int64_t hidden = from.hidden;
  ops::RnnWeights weights;
  weights.w_input = reordered(from.w, hidden, order);
  weights.w_hidden = reordered(from.r, hidden, order);
  if (from.b != nullptr) {
    const auto gates = static_cast<int64_t>(order.size());
    weights.b_input = reordered(rows(from.b, 0, gates * hidden), hidden, order);
    weights.b_hidden = reordered(rows(from.b, gates * hidden, gates * hidden), hidden, order);
  }
  if (kind == RnnKind::kLstm) {
    return ops::lstm(direction.x, weights, direction.h, direction.c, reverse, context.name());
  }
  if (kind == RnnKind::kGru) return ops::gru(direction.x, weights, direction.h, reverse, context.name());
  const std::string activation = direction.activations[0] == "Relu" ? op::kRelu : op::kTanh;
  return ops::rnn(direction.x, weights, direction.h, activation, reverse, context.name());
}

/// x [N, T, W] by the positions [N, T] of its times.
Value* at_times(Value* x, Value* positions) {
  const Shape& shape = x->shape();
  return ops::gather_elements(
      x, ops::expand(ops::unsqueeze(positions, {2}), {shape[0], positions->shape()[1], shape[2]}), 1);
}

/// Sequences of which some end before the others: what comes after the end of one changes nothing before it, so all run
/// at full length, and what was computed beyond an end is left out. A sequence that is read from its end is turned
/// round for that.
Result run_with_lengths(const NodeContext& context, RnnKind kind, Direction direction) {
  const Shape shape = static_shape(context, direction.x);
  const int64_t batch = shape[0], steps = shape[1], hidden = direction.weights.hidden;
  Tensor numbers(DType::kI64, {1, steps});
  std::iota(numbers.data<int64_t>(), numbers.data<int64_t>() + steps, int64_t{0});
  Value* times = context.constant(numbers);
  Value* lengths = ops::reshape(ops::cast(direction.lengths, DType::kI64), {batch, 1});
  lengths = ops::minimum(lengths, ops::scalar_like(lengths, static_cast<double>(steps)));
  Value* active = ops::less(times, lengths);
  Value* turned = nullptr;
  if (direction.reverse) {
    Value* backwards = ops::sub(ops::sub(lengths, ops::scalar_like(lengths, 1.0)), times);
    turned = ops::where(active, backwards, ops::expand(times, {batch, steps}));
    direction.x = at_times(direction.x, turned);
  }
  const bool lstm = kind == RnnKind::kLstm;
  const ops::RnnOutputs out = run_whole(context, kind, direction, false);
  Value* zero = context.constant(Tensor::zeros(direction.x->dtype(), {batch, hidden}));
  // The state after the last time of each; that before the first where there is none.
  Value* last = ops::maximum(ops::sub(lengths, ops::scalar_like(lengths, 1.0)), ops::scalar_like(lengths, 0.0));
  const auto final_state = [&](Value* states, Value* before) {
    Value* none = ops::equal(lengths, ops::scalar_like(lengths, 0.0));
    return ops::where(none, before != nullptr ? before : zero, ops::squeeze(at_times(states, last), {1}));
  };
  Value* y = turned != nullptr ? at_times(out.y, turned) : out.y;
  y = ops::where(ops::unsqueeze(active, {2}), y, ops::scalar_like(y, 0.0));
  return {y, final_state(out.y, direction.h),
          lstm ? final_state(out.c_n->producer()->output(RnnOutput::kExtra), direction.c) : nullptr};
}

Result run_engine(const NodeContext& context, RnnKind kind, const Direction& direction) {
  if (direction.lengths != nullptr) return run_with_lengths(context, kind, direction);
  const ops::RnnOutputs out = run_whole(context, kind, direction, direction.reverse);
  return {out.y, out.h_n, out.c_n};
}

constexpr int64_t kMostUnrolledSteps = 1 << 14;

/// Where a sequence has ended its state stays as it was, and the output is 0.
Result run_unrolled(const NodeContext& context, RnnKind kind, const Direction& direction) {
  const Shape x = static_shape(context, direction.x);
  context.require(x[1] <= kMostUnrolledSteps, "sequences of ", x[1], " steps are too long to be unrolled");
  const int64_t hidden = direction.weights.hidden;
  Value* zero = context.constant(Tensor::zeros(direction.x->dtype(), {x[0], hidden}));
  RnnState state{direction.h != nullptr ? direction.h : zero, direction.c != nullptr ? direction.c : zero};
  const RnnCell cell(context, kind, direction.weights, direction.activations);
  std::vector<Value*> outputs(static_cast<size_t>(x[1]));
  for (int64_t i = 0; i < x[1]; ++i) {
    const int64_t t = direction.reverse ? x[1] - 1 - i : i;
    Value* x_t = ops::squeeze(ops::slice(direction.x, {t}, {t + 1}, {1}), {1});
    RnnState next = cell.step(x_t, state);
    Value* y = next.h;
    if (direction.lengths != nullptr) {
      Value* time = context.constant(Tensor::scalar<int64_t>(t).to(direction.lengths->dtype()));
      Value* active = ops::unsqueeze(ops::greater(direction.lengths, time), {1});
      y = ops::where(active, next.h, zero);
      next.h = ops::where(active, next.h, state.h);
      next.c = ops::where(active, next.c, state.c);
    }
    outputs[static_cast<size_t>(t)] = ops::unsqueeze(y, {1});
    state = next;
  }
  return {ops::concat(outputs, 1), state.h, state.c};
}

/// Part `index` of the first dimension, which goes.
Value* part(Value* x, int64_t index) {
  return x == nullptr ? nullptr : ops::squeeze(ops::slice(x, {index}, {index + 1}, {0}), {0});
}

std::vector<std::string> activations_of(const NodeContext& context, RnnKind kind, int64_t direction) {
  const size_t each = kind == RnnKind::kLstm ? 3 : kind == RnnKind::kGru ? 2 : 1;
  const std::vector<std::string> all = context.texts("activations");
  if (all.empty()) {
    if (kind == RnnKind::kPlain) return {"Tanh"};
    return kind == RnnKind::kGru ? std::vector<std::string>{"Sigmoid", "Tanh"}
                                 : std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"};
  }
  const size_t first = static_cast<size_t>(direction) * each;
  context.require(all.size() >= first + each, "there are too few activations");
  return {all.begin() + static_cast<int64_t>(first), all.begin() + static_cast<int64_t>(first + each)};
}

Result run_direction(const NodeContext& context, RnnKind kind, Value* x, int64_t index, bool reverse) {
  const bool batch_first = context.flag("layout", false);
  const auto state = [&](size_t input) -> Value* {
    Value* value = context.optional(input);
    return part(value != nullptr && batch_first ? ops::transpose(value, {1, 0, 2}) : value, index);
  };
  Direction direction;
  direction.x = x;
  direction.weights.w = part(context.input(1), index);
  direction.weights.r = part(context.input(2), index);
  direction.weights.b = part(context.optional(3), index);
  direction.weights.hidden = direction.weights.r->shape()[1];
  direction.lengths = context.optional(4);
  direction.h = state(5);
  if (kind == RnnKind::kLstm) {
    direction.c = state(6);
    direction.weights.peepholes = part(context.optional(7), index);
  }
  direction.reverse = reverse;
  direction.activations = activations_of(context, kind, index);
  return engine_can(context, kind, direction) ? run_engine(context, kind, direction)
                                              : run_unrolled(context, kind, direction);
}

std::vector<Value*> recurrent(const NodeContext& context, RnnKind kind) {
  const bool batch_first = context.flag("layout", false);
  Value* x = context.input(0);
  context.require(x->shape().rank() == 3, "the input must have three dimensions, not ", x->shape());
  if (!batch_first) x = ops::transpose(x, {1, 0, 2});
  const std::string direction = context.text("direction", "forward");
  context.require(direction == "forward" || direction == "reverse" || direction == "bidirectional",
                  "unknown direction '", direction, "'");
  std::vector<Result> results = {run_direction(context, kind, x, 0, direction == "reverse")};
  if (direction == "bidirectional") results.push_back(run_direction(context, kind, x, 1, true));
  std::vector<Value*> y, h, c;
  for (const Result& result : results) {
    // [N, T, H] to [T, 1, N, H], or [N, T, 1, H] batch first.
    y.push_back(ops::unsqueeze(batch_first ? result.y : ops::transpose(result.y, {1, 0, 2}), {batch_first ? 2 : 1}));
    h.push_back(ops::unsqueeze(result.h, {batch_first ? 1 : 0}));
    if (result.c != nullptr) c.push_back(ops::unsqueeze(result.c, {batch_first ? 1 : 0}));
  }
  const auto joined = [](const std::vector<Value*>& parts, int64_t axis) -> Value* {
    if (parts.empty()) return nullptr;
    return parts.size() > 1 ? ops::concat(parts, axis) : parts[0];
  };
  const int64_t state_axis = batch_first ? 1 : 0;
  return {joined(y, batch_first ? 2 : 1), joined(h, state_axis), joined(c, state_axis)};
}

const RegisterConverters kConverters({
    {"LSTM", [](const NodeContext& context) { return recurrent(context, RnnKind::kLstm); }},
    {"GRU", [](const NodeContext& context) { return recurrent(context, RnnKind::kGru); }},
    {"RNN", [](const NodeContext& context) { return recurrent(context, RnnKind::kPlain); }},
});

}  // namespace
}  // namespace thalweg::onnx
