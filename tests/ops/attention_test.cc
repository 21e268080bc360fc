// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

using Values = std::vector<Value*>;

BuildOp build(bool causal, double scale = 0.0) {
  return [=](const Values& v) {
    return Values{ops::attention(v[0], v[1], v[2], v.size() > 3 ? v[3] : nullptr, scale, causal)};
  };
}

BuildOp build_by_time(bool causal) {
  return [=](const Values& v) { return Values{ops::attention_by_time(v[0], v[1], v[2], nullptr, 0.0, causal)}; };
}

BuildOp build_packed(int64_t heads, bool causal) {
  return [=](const Values& v) {
    return Values{ops::self_attention(v[0], heads, v.size() > 1 ? v[1] : nullptr, 0.0, causal)};
  };
}

std::vector<Operand> operands(int64_t b, int64_t h, int64_t t, int64_t s, int64_t d, int64_t dv) {
  return {{{b, h, t, d}}, {{b, h, s, d}}, {{b, h, s, dv}}};
}

TEST(Attention, GradientsMatchCentralDifferences) {
  for (bool causal : {false, true}) {
    check_gradients(operands(2, 2, 3, 4, 3, 2), build(causal));
    check_gradients({{{2, 3, 2, 3}}, {{2, 4, 2, 3}}, {{2, 4, 2, 2}}}, build_by_time(causal));
    check_gradients({{{2, 3, 12}}}, build_packed(2, causal));
  }
  auto masked = operands(2, 2, 3, 4, 3, 2);
  masked.push_back({{2, 1, 1, 4}});
  check_gradients(masked, build(false, 0.3));
}

TEST(Attention, FastPathMatchesReference) {
  for (bool causal : {false, true}) {
    check_fast_path(operands(2, 3, 5, 7, 4, 6), build(causal), "native attention_grad", 1e-4);
    check_fast_path(operands(1, 2, 130, 130, 32, 32), build(causal), "native attention_grad", 1e-4);
    check_fast_path(operands(1, 1, 1, 1, 1, 1), build(causal), "native attention_grad", 1e-4);
    check_fast_path({{{2, 5, 3, 8}}, {{2, 9, 3, 8}}, {{2, 9, 3, 8}}}, build_by_time(causal), "native attention_grad",
                    1e-4);
    check_fast_path({{{2, 9, 3 * 2 * 40}}}, build_packed(2, causal), "native attention_grad", 1e-4);
  }
  check_fast_path(operands(0, 2, 3, 4, 5, 5), build(false), "reference");
  for (const Shape& mask : std::vector<Shape>{{7}, {2, 1, 1, 7}, {5, 7}, {2, 3, 5, 7}}) {
    auto masked = operands(2, 3, 5, 7, 4, 6);
    masked.push_back({mask, -1.0, 1.0, DType::kF64, false});
    check_fast_path(masked, build(false), "native attention_grad", 1e-4);
  }
}

TEST(Attention, HiddenKeysAreNotSeenAndAQueryThatSeesNothingGivesZeros) {
  const float nothing = -std::numeric_limits<float>::infinity();
  for (const char* kernel : {"native", "reference"}) {
    Graph graph;
    Value* q = graph.input("q", {DType::kF32, {1, 1, 2, 2}});
    Value* k = graph.input("k", {DType::kF32, {1, 1, 2, 2}});
    Value* v = graph.input("v", {DType::kF32, {1, 1, 2, 1}});
    Value* mask = graph.constant(Tensor::from<float>({2, 2}, {0, nothing, nothing, nothing}));
    graph.mark_output(ops::attention(q, k, v, mask));
    CompileOptions options;
    options.only_kernels = {kernel};
    const auto out = run_graph(graph,
                               {random_tensor(DType::kF32, {1, 1, 2, 2}, 1),
                                random_tensor(DType::kF32, {1, 1, 2, 2}, 2), Tensor::from<float>({1, 1, 2, 1}, {3, 5})},
                               options);
    EXPECT_FLOAT_EQ(out[0].data<float>()[0], 3.0F) << kernel;
    EXPECT_EQ(out[0].data<float>()[1], 0.0F) << kernel;
  }
}

TEST(Attention, OperandsThatDoNotFitAreNamed) {
  Graph graph;
  Value* q = graph.input("q", {DType::kF32, {1, 2, 3, 4}});
  Value* k = graph.input("k", {DType::kF32, {1, 2, 5, 3}});
  Value* mask = graph.input("m", {DType::kF32, {3, 4}});
  try {
    ops::attention(q, k, k, nullptr, 0.0, false, "cross");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("attention 'cross'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("queries have 4 features, keys 3"), std::string::npos) << error.what();
  }
  EXPECT_THROW(ops::attention(q, q, q, mask), Error);
  Value* packed = graph.input("p", {DType::kF32, {1, 2, 10}});
  EXPECT_THROW(ops::self_attention(packed, 2), Error);
}

}  // namespace
}  // namespace thalweg::testing
