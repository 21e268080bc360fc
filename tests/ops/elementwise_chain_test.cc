// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The pass that makes chains is tested in tests/passes/fuse_elementwise_test.cc.
#include "ops/elementwise_chain.h"

#include <gtest/gtest.h>

#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

using Values = std::vector<Value*>;

/// clip(tanh(a * b) + a, -0.5, 0.75) - b
const ChainSteps kSteps{{"mul", 0, 1}, {"tanh", 2}, {"add", 3, 0}, {"clip", 4, -1, -0.5, 0.75}, {"sub", 5, 1}};

Values build(const Values& v) {
  return v[0]->graph().add("elementwise_chain", {v[0], v[1]}, chain_attributes(kSteps))->outputs();
}

TEST(ElementwiseChain, MatchesReference) {
  for (const auto& [a, b] : std::vector<std::pair<Shape, Shape>>{{{3, 17}, {3, 17}},
                                                                 {{2, 3, 5}, {3, 1}},
                                                                 {{1}, {1}},
                                                                 {{7, 5000}, {}},
                                                                 {{0, 4}, {4}},
                                                                 {{2, 16, 7, 7}, {1, 16, 1, 1}}}) {
    check_fast_path({{a}, {b}}, build, a.num_elements() == 0 ? "reference" : "native chain", 2e-6, false);
  }
}

TEST(ElementwiseChain, StepsReadBackAsTheyWereWritten) {
  const ChainSteps steps = chain_steps(chain_attributes(kSteps));
  ASSERT_EQ(steps.size(), kSteps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i].function, kSteps[i].function);
    EXPECT_EQ(steps[i].left, kSteps[i].left);
    EXPECT_EQ(steps[i].right, kSteps[i].right);
    EXPECT_EQ(steps[i].a, kSteps[i].a);
    EXPECT_EQ(steps[i].b, kSteps[i].b);
  }
}

TEST(ElementwiseChain, RefusesWhatIsNoChain) {
  for (const ChainSteps& steps : std::vector<ChainSteps>{
           {}, {{"softmax", 0}}, {{"add", 0, -1}}, {{"tanh", 0, 1}}, {{"add", 0, 2}}, {{"add", -1, 0}}}) {
    Graph graph;
    Value* x = graph.input("x", {DType::kF32, {2, 3}});
    EXPECT_THROW(graph.add("elementwise_chain", {x, x}, chain_attributes(steps)), Error);
  }
}

}  // namespace
}  // namespace thalweg::testing
