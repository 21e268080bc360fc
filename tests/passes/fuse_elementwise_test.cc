// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <sstream>

#include "support/op_check.h"
#include "thalweg/ops.h"
#include "thalweg/passes.h"

namespace thalweg {
namespace {

using testing::expect_close;
using testing::random_tensor;
using testing::run_graph;

size_t count(const Graph& graph, const std::string& op) {
  size_t found = 0;
  for (const auto& node : graph.nodes()) found += node->op_name() == op ? 1 : 0;
  return found;
}

using Build = std::function<Value*(const std::vector<Value*>& inputs)>;

/// Runs what `build` makes as it is, fused, and fused with the plain form; gives the fused graph.
std::unique_ptr<Graph> check(const std::vector<Shape>& shapes, const Build& build) {
  auto graph = std::make_unique<Graph>();
  std::vector<Value*> inputs;
  std::vector<Tensor> given;
  for (const Shape& shape : shapes) {
    inputs.push_back(graph->input("x" + std::to_string(inputs.size()), {DType::kF32, shape}));
    given.push_back(random_tensor(DType::kF32, shape, inputs.size(), 0.2, 2.0));
  }
  graph->mark_output(build(inputs));
  const Tensor expected = run_graph(*graph, given)[0];
  fuse_elementwise(*graph);
  graph->verify();
  expect_close(run_graph(*graph, given)[0], expected, 2e-6, "fused");
  CompileOptions reference;
  reference.only_kernels = {"reference"};
  expect_close(run_graph(*graph, given, reference)[0], expected, 2e-5, "reference");
  return graph;
}

/// Every function of two values and some of one, values that are read twice included.
Value* long_chain(Value* x, Value* y) {
  Value* sum = ops::add(ops::mul(x, y), ops::sub(y, 0.5));
  Value* quotient = ops::div(sum, ops::maximum(ops::square(y), ops::minimum(x, y)));
  Value* power = ops::pow(ops::add(ops::abs(quotient), 0.1), y);
  Value* slope = x->graph().add("prelu", {ops::sub(ops::tanh(power), 0.5), y})->output();
  return ops::mul(ops::silu(slope), ops::sigmoid(ops::add(slope, quotient)));
}

TEST(FuseElementwise, MakesOneNodeOfAChainInEveryShape) {
  const std::vector<std::pair<Shape, Shape>> shapes{
      {{3, 70}, {3, 70}}, {{1}, {1}},         {{2, 5000}, {1}},   {{4, 3, 129}, {129}},    {{2, 17, 9, 5}, {17, 1, 1}},
      {{0, 4}, {4}},      {{3, 2, 1030}, {}}, {{1, 40}, {40, 1}}, {{2, 16, 3, 4}, {3, 4}}, {{70, 1, 33}, {1, 5, 33}}};
  for (const auto& [a, b] : shapes) {
    std::ostringstream what;
    what << a << " and " << b;
    SCOPED_TRACE(what.str());
    const auto graph = check({a, b}, [](const auto& v) { return long_chain(v[0], v[1]); });
    EXPECT_EQ(count(*graph, "elementwise_chain"), graph->nodes().empty() ? 0U : 1U) << graph->to_string();
  }
}

TEST(FuseElementwise, StaysInTheLayoutOfConvolutions) {
  for (const int64_t channels : {1, 16, 17, 48}) {
    for (const Shape& small : std::vector<Shape>{{channels, 1, 1}, {2, channels, 1, 1}, {2, 1, 11, 13}, {1}}) {
      std::ostringstream what;
      what << channels << " channels and " << small;
      SCOPED_TRACE(what.str());
      const auto graph = check({{2, channels, 11, 13}, {channels, channels, 1, 1}, small}, [](const auto& v) {
        Value* x = ops::conv(v[0], v[1]);
        // The second chain makes something of the zeros that pad the last block.
        Value* y = ops::mul(ops::tanh(ops::mul(x, v[2])), v[2]);
        return ops::conv(ops::exp(ops::sub(ops::conv(y, v[1]), v[2])), v[1]);
      });
      EXPECT_EQ(count(*graph, "elementwise_chain"), 2U) << graph->to_string();
    }
  }
}

TEST(FuseElementwise, LeavesWhatOthersRead) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {4, 33}});
  Value* middle = ops::tanh(ops::mul(x, 2.0));
  graph.mark_output(middle);
  graph.mark_output(ops::sigmoid(ops::add(middle, x)));
  const Tensor given = random_tensor(DType::kF32, {4, 33}, 1);
  const std::vector<Tensor> expected = run_graph(graph, {given});
  fuse_elementwise(graph);
  graph.verify();
  EXPECT_EQ(count(graph, "elementwise_chain"), 2U) << graph.to_string();
  const std::vector<Tensor> actual = run_graph(graph, {given});
  for (size_t i = 0; i < 2; ++i) expect_close(actual[i], expected[i], 1e-6, std::to_string(i));
}

TEST(FuseElementwise, LeavesShortRunsAndOtherTypes) {
  // Elements of the operand that broadcasts lie 4 apart at most: a loop over them would cost more than it saves.
  const auto graph = check({{64, 3, 4}, {64, 3, 1}}, [](const auto& v) { return ops::tanh(ops::mul(v[0], v[1])); });
  EXPECT_EQ(count(*graph, "elementwise_chain"), 0U) << graph->to_string();
  Graph integers;
  Value* x = integers.input("x", {DType::kI64, {40}});
  integers.mark_output(ops::mul(ops::add(x, x), x));
  fuse_elementwise(integers);
  EXPECT_EQ(count(integers, "elementwise_chain"), 0U);
}

TEST(FuseElementwise, CutsWhatIsTooLong) {
  const auto graph = check({{2, 300}}, [](const auto& v) {
    Value* x = v[0];
    for (int i = 0; i < 80; ++i) x = i % 2 == 0 ? ops::tanh(x) : ops::add(x, v[0]);
    return x;
  });
  EXPECT_EQ(count(*graph, "elementwise_chain"), 3U) << graph->to_string();
}

}  // namespace
}  // namespace thalweg
