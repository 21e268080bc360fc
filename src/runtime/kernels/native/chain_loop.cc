// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/native/chain_loop.h"

#include <algorithm>

#include "runtime/kernels/native/function_loops.h"

namespace thalweg {

ChainLoop::ChainLoop(const ChainSteps& steps, size_t num_inputs) {
  const int inputs = static_cast<int>(num_inputs);
  std::vector<int> last_use(steps.size(), -1);
  for (size_t s = 0; s < steps.size(); ++s) {
    for (const int operand : {steps[s].left, steps[s].right}) {
      if (operand >= inputs) last_use[static_cast<size_t>(operand - inputs)] = static_cast<int>(s);
    }
  }
  std::vector<int> slot_of(steps.size(), -1), free;
  const auto place = [&](int operand) {
    if (operand < 0) return Place{};
    return operand < inputs ? Place{operand, -1} : Place{-1, slot_of[static_cast<size_t>(operand - inputs)]};
  };
  for (size_t s = 0; s < steps.size(); ++s) {
    const ChainStep& from = steps[s];
    Step step;
    step.binary = from.right >= 0;
    step.a = from.a;
    step.b = from.b;
    step.left = place(from.left);
    step.right = place(from.right);
    if (step.binary) {
      step.pair = *binary_loop(from.function);
    } else if (const simd::Function* loop = unary_loop(from.function)) {
      step.function = *loop;
    } else {
      step.plain = find_unary(from.function)->value;
    }
    // A function may write over its operand, so a slot that is read for the last time is free for the result.
    for (size_t t = 0; t < s; ++t) {
      if (last_use[t] == static_cast<int>(s) && slot_of[t] >= 0) free.push_back(slot_of[t]);
    }
    if (s + 1 < steps.size()) {
      if (free.empty()) free.push_back(num_slots_++);
      slot_of[s] = step.slot = free.back();
      free.pop_back();
    }
    steps_.push_back(step);
  }
}

void ChainLoop::run_step(const Step& step, Operand left, Operand right, float* result, int64_t count) const {
  if (step.binary) {
    simd::BinaryCall call;
    call.function = step.pair;
    call.a = left.data;
    call.b = right.data;
    call.a_is_one = left.one;
    call.b_is_one = right.one;
    call.y = result;
    call.count = count;
    return simd::binary(call);
  }
  if (left.one) {
    // An input of one element, which the result repeats.
    std::fill_n(result, count, *left.data);
    left = {result, false};
  }
  if (step.plain != nullptr) {
    for (int64_t i = 0; i < count; ++i) {
      result[i] = static_cast<float>(step.plain(static_cast<double>(left.data[i]), step.a, step.b));
    }
    return;
  }
  simd::UnaryCall call;
  call.function = step.function;
  call.alpha = static_cast<float>(step.a);
  call.beta = static_cast<float>(step.b);
  call.x = left.data;
  call.y = result;
  call.count = count;
  simd::unary(call);
}

void ChainLoop::run(const Operand* operands, float* result, int64_t count, float* scratch) const {
  for (int64_t first = 0; first < count; first += kTile) {
    const int64_t part = std::min(kTile, count - first);
    const auto at = [&](const Place& place) {
      if (place.slot >= 0) return Operand{scratch + place.slot * kTile, false};
      if (place.input < 0) return Operand{};
      const Operand& operand = operands[place.input];
      return operand.one ? operand : Operand{operand.data + first, false};
    };
    for (const Step& step : steps_) {
      float* to = step.slot >= 0 ? scratch + step.slot * kTile : result + first;
      run_step(step, at(step.left), at(step.right), to, part);
    }
  }
}

}  // namespace thalweg
