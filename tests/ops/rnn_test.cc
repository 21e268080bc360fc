// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

using Values = std::vector<Value*>;

struct RnnCase {
  const char* name;
  int64_t gates;
  const char* activation;
};

Values all_of(const ops::RnnOutputs& outputs) {
  Values values{outputs.y, outputs.h_n};
  if (outputs.c_n != nullptr) values.push_back(outputs.c_n);
  return values;
}

class Rnn : public ::testing::TestWithParam<RnnCase> {
 protected:
  /// Operands: x, weights, then as the flags say biases and first states.
  static std::vector<Operand> operands(int64_t n, int64_t t, int64_t i, int64_t h, bool biases, bool states) {
    const int64_t all = GetParam().gates * h;
    std::vector<Operand> result{{{n, t, i}}, {{all, i}}, {{all, h}}};
    if (biases) result.insert(result.end(), {{{all}}, {{all}}});
    if (states) result.insert(result.end(), {{{n, h}}, {{n, h}}});
    return result;
  }

  static BuildOp build(bool biases, bool states, bool reverse) {
    return [=](const Values& v) {
      ops::RnnWeights weights{v[1], v[2], biases ? v[3] : nullptr, biases ? v[4] : nullptr};
      Value* h = states ? v[biases ? 5 : 3] : nullptr;
      Value* c = states ? v[biases ? 6 : 4] : nullptr;
      const std::string kind = GetParam().name;
      if (kind == "lstm") return all_of(ops::lstm(v[0], weights, h, c, reverse));
      if (kind == "gru") return all_of(ops::gru(v[0], weights, h, reverse));
      return all_of(ops::rnn(v[0], weights, h, GetParam().activation, reverse));
    };
  }
};

TEST_P(Rnn, GradientsMatchCentralDifferences) {
  for (bool reverse : {false, true}) {
    check_gradients(operands(2, 3, 2, 3, true, true), build(true, true, reverse));
    check_gradients(operands(2, 2, 3, 2, false, false), build(false, false, reverse));
  }
}

TEST_P(Rnn, FixedWeightsArePackedOnce) {
  for (const auto& [batch, steps] : std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {2, 5}, {3, 60}, {1, 7}}) {
    SCOPED_TRACE(batch * steps);
    // Threads share the units of a single sequence of many.
    const std::vector<Operand> all = operands(batch, steps, 7, steps == 7 ? 768 : 19, true, true);
    Graph graph;
    Values values;
    std::vector<Tensor> given;
    for (size_t i = 0; i < all.size(); ++i) {
      const bool fixed = i >= 1 && i <= 4;
      // Small weights: large ones would make errors grow from step to step.
      const Tensor content = random_tensor(DType::kF32, all[i].shape, i, fixed ? -0.1 : -1.0, fixed ? 0.1 : 1.0);
      const std::string name = "v" + std::to_string(i);
      values.push_back(fixed ? graph.parameter(name, content) : graph.input(name, {DType::kF32, all[i].shape}));
      if (!fixed) given.push_back(content);
    }
    for (Value* output : build(true, true, false)(values)) graph.mark_output(output);
    CompileOptions reference;
    reference.only_kernels = {"reference"};
    const std::vector<Tensor> expected = run_graph(graph, given, reference);
    for (const int threads : {1, 2, 3}) {
      CompileOptions options;
      options.threads = threads;
      const std::vector<Tensor> actual = run_graph(graph, given, options);
      for (size_t i = 0; i < expected.size(); ++i) expect_close(actual[i], expected[i], 1e-4, std::to_string(i));
    }
  }
}

TEST_P(Rnn, FastPathMatchesReference) {
  for (bool reverse : {false, true}) {
    check_fast_path(operands(5, 4, 7, 9, true, true), build(true, true, reverse), "native rnn_grad", 1e-4);
    check_fast_path(operands(3, 6, 20, 70, false, false), build(false, false, reverse), "native rnn_grad", 1e-4);
  }
  check_fast_path(operands(1, 1, 1, 1, true, true), build(true, true, false), "native rnn_grad", 1e-4);
  check_fast_path(operands(0, 3, 4, 5, true, true), build(true, true, false), "reference");
}

TEST_P(Rnn, TheDataGradientIsLeftOutIfNobodyWantsIt) {
  std::vector<Operand> given = operands(4, 3, 5, 6, true, false);
  given[0].differentiate = false;
  check_gradients(given, build(true, false, false));
  check_fast_path(given, build(true, false, false), "native rnn_grad", 1e-4);
}

INSTANTIATE_TEST_SUITE_P(All, Rnn,
                         ::testing::Values(RnnCase{"lstm", 4, "lstm"}, RnnCase{"gru", 3, "gru"},
                                           RnnCase{"rnn", 1, "tanh"}, RnnCase{"rnn", 1, "relu"}),
                         [](const auto& test) { return test.param.activation; });

TEST(RnnOp, WeightsThatDoNotFitAreNamed) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2, 3, 4}});
  Value* w_input = graph.input("wi", {DType::kF32, {20, 3}});
  Value* w_hidden = graph.input("wh", {DType::kF32, {20, 5}});
  try {
    ops::lstm(x, {w_input, w_hidden}, nullptr, nullptr, false, "encoder");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("lstm 'encoder'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("[20,3], not [20,4]"), std::string::npos) << error.what();
  }
}

TEST(ConvLstm, CellIsDifferentiable) {
  const BuildOp build = [](const Values& v) {
    const ops::ConvLstmState state = ops::conv_lstm_cell(v[0], {v[1], v[2]}, v[3], v[4]);
    return Values{state.h, state.c};
  };
  const std::vector<Operand> operands{{{1, 2, 3, 3}}, {{1, 2, 3, 3}}, {{1, 2, 3, 3}}, {{8, 4, 3, 3}}, {{8}}};
  check_gradients(operands, build);
  check_fast_path(operands, build, "onednn", 1e-4);
}

}  // namespace
}  // namespace thalweg::testing
