// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// ONNX's recurrent operators over sequences of different lengths.
#include <gtest/gtest.h>

#include "support/op_check.h"
#include "thalweg/model.h"
#include "thalweg/ops.h"

namespace thalweg {
namespace {

using testing::expect_close;
using testing::random_tensor;

constexpr int64_t kSteps = 6, kBatch = 4, kInputs = 3, kHidden = 5;

struct Kind {
  const char* op;
  int64_t gates;
  size_t states;
};

/// Inputs of the model: x [T, N, I], and, if `lengths`, how long each sequence is. Weights are fixed by the seed.
std::unique_ptr<Model> build(const Kind& kind, const std::string& direction, int64_t batch, int64_t steps,
                             bool lengths) {
  auto graph = std::make_unique<Graph>("recurrent");
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  Value* x = graph->input("x", {DType::kF32, {steps, batch, kInputs}});
  const auto weight = [&](const char* name, const Shape& shape) {
    return graph->constant(random_tensor(DType::kF32, shape, static_cast<uint64_t>(name[0]), -0.5, 0.5));
  };
  std::vector<Value*> inputs{x, weight("w", {directions, kind.gates * kHidden, kInputs}),
                             weight("r", {directions, kind.gates * kHidden, kHidden}),
                             weight("b", {directions, 2 * kind.gates * kHidden})};
  inputs.push_back(lengths ? graph->input("lengths", {DType::kI32, {batch}}) : nullptr);
  Attributes attrs{{"hidden_size", kHidden}, {"direction", direction}, {"opset", int64_t{17}}};
  if (std::string(kind.op) == "onnx.GRU") attrs.set("linear_before_reset", int64_t{1});
  Node* node = graph->add_untyped(kind.op, inputs, attrs, 1 + kind.states, "layer");
  for (Value* output : node->outputs()) graph->mark_output(output);
  return std::make_unique<Model>(std::move(graph));
}

/// Sequence `n` of x [T, N, I], cut after `steps`: [steps, 1, I].
Tensor sequence(const Tensor& x, int64_t n, int64_t steps) {
  Tensor result(DType::kF32, {steps, 1, kInputs});
  for (int64_t t = 0; t < steps; ++t) {
    std::copy_n(x.data<float>() + (t * kBatch + n) * kInputs, kInputs, result.data<float>() + t * kInputs);
  }
  return result;
}

class RnnLengths : public ::testing::TestWithParam<std::tuple<Kind, const char*>> {};

TEST_P(RnnLengths, AreAsIfEachSequenceRanAlone) {
  const auto& [kind, direction] = GetParam();
  const int64_t directions = std::string(direction) == "bidirectional" ? 2 : 1;
  const Tensor x = random_tensor(DType::kF32, {kSteps, kBatch, kInputs}, 1);
  const std::vector<int32_t> lengths{kSteps, 1, 4, 3};
  const std::vector<Tensor> all =
      build(kind, direction, kBatch, kSteps, true)->predict({x, Tensor::from<int32_t>({kBatch}, lengths)});
  for (int64_t n = 0; n < kBatch; ++n) {
    const int64_t steps = lengths[static_cast<size_t>(n)];
    const std::vector<Tensor> alone = build(kind, direction, 1, steps, false)->predict({sequence(x, n, steps)});
    Tensor y = Tensor::zeros(DType::kF32, {kSteps, directions, kHidden}), expected = y.clone();
    std::copy_n(alone[0].data<float>(), alone[0].num_elements(), expected.data<float>());
    for (int64_t row = 0; row < kSteps * directions; ++row) {
      std::copy_n(all[0].data<float>() + (row * kBatch + n) * kHidden, kHidden, y.data<float>() + row * kHidden);
    }
    expect_close(y, expected, 1e-5, "y of sequence " + std::to_string(n));
    for (size_t s = 1; s <= kind.states; ++s) {
      Tensor state = Tensor::zeros(DType::kF32, {directions, 1, kHidden});
      for (int64_t d = 0; d < directions; ++d) {
        std::copy_n(all[s].data<float>() + (d * kBatch + n) * kHidden, kHidden, state.data<float>() + d * kHidden);
      }
      expect_close(state, alone[s], 1e-5, "state " + std::to_string(s) + " of sequence " + std::to_string(n));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, RnnLengths,
    ::testing::Combine(::testing::Values(Kind{"onnx.LSTM", 4, 2}, Kind{"onnx.GRU", 3, 1}, Kind{"onnx.RNN", 1, 1}),
                       ::testing::Values("forward", "reverse", "bidirectional")),
    [](const auto& test) { return std::string(std::get<0>(test.param).op).substr(5) + "_" + std::get<1>(test.param); });

}  // namespace
}  // namespace thalweg
