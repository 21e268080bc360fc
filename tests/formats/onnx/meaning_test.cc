// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Which op a standard operator stands for, and nodes of old operators in the form of new ones.
#include "graph/meaning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/onnx/upgrade.h"
#include "graph/compose.h"
#include "ops/ids.h"
#include "support/error_text.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace thalweg::testing;

TEST(Meaning, StandardOperatorsStandForOps) {
  Graph graph("model");
  Value* x = graph.input("x", {DType::kF32, {2, 3}});
  const auto node = [&](const std::string& op) { return graph.add_untyped(op, {x}, {}, 1); };
  EXPECT_TRUE(means(*node("onnx.Conv"), op::kConv));
  EXPECT_TRUE(means(*node("onnx.Relu"), op::kRelu));
  EXPECT_FALSE(means(*node("onnx.Relu"), op::kConv));
  EXPECT_TRUE(meaning_of(*node("onnx.Flatten")).has(Trait::kMovesElements));
  EXPECT_FALSE(meaning_of(*node("onnx.NonZero")).has(Trait::kMovesElements));
  EXPECT_EQ(meaning_of(*node("onnx.NonZero")).name, "onnx.NonZero");
  EXPECT_TRUE(means(*graph.add(op::kRelu, {x}), op::kRelu));
  EXPECT_EQ(op_of_standard("onnx.NonZero"), nullptr);
}

TEST(Meaning, OpsKnowTheirFirstStandardOperator) {
  EXPECT_EQ(standard_operator_of(op::kReshape), "onnx.Reshape");
  EXPECT_EQ(standard_operator_of(op::kDynamicQuantize), "onnx.DynamicQuantizeLinear");
  EXPECT_EQ(name_in_files(find_op("onnx.Reshape")), "Reshape");
  EXPECT_EQ(name_in_files(find_op(op::kReshape)), "reshape");
  EXPECT_THAT(error_text([] { standard_operator_of(op::kConvGradData); }), HasSubstr("stands for conv_grad_data"));
  EXPECT_THAT(error_text([] { RegisterMeaning("onnx.Relu", "conv"); }), HasSubstr("a name of two ops: relu and conv"));
}

/// One node of an operator of opset `from` that reads x, with further inputs that are constant.
struct OneNode {
  OneNode(const std::string& op, Attributes attrs, const std::vector<Tensor>& constants = {}) {
    std::vector<Value*> inputs = {graph.untyped_input("x")};
    for (const Tensor& constant : constants) inputs.push_back(graph.constant(constant));
    node = graph.add_untyped(op, inputs, std::move(attrs), 1, "it");
    graph.mark_output(node->output(), "y");
  }
  Graph graph{"model"};
  Node* node = nullptr;
};

TEST(Upgrade, AttributesBecomeInputs) {
  OneNode one("onnx.Clip", {{"max", 6.0}});
  EXPECT_THAT(onnx::upgrade(one.graph, 7), IsEmpty());
  ASSERT_EQ(one.node->inputs().size(), 3U);
  EXPECT_EQ(one.node->input(2)->data().item(), 6.0);
  EXPECT_FALSE(one.node->attrs().has("max"));
  EXPECT_EQ(one.node->attrs().integer(ComposeContext::kOpsetAttribute), onnx::kUpgradedOpset);
}

TEST(Upgrade, WhatDidNotChangeStays) {
  OneNode one("onnx.TopK", {{"axis", int64_t{0}}}, {Tensor::from<int64_t>({1}, {2})});
  EXPECT_THAT(onnx::upgrade(one.graph, 10), IsEmpty());
  EXPECT_EQ(one.node->inputs().size(), 2U);
  OneNode foreign("com.microsoft.Gelu", {{"opset", int64_t{1}}});
  EXPECT_THAT(onnx::upgrade(foreign.graph, 9), IsEmpty());
  EXPECT_EQ(foreign.node->attrs().integer(ComposeContext::kOpsetAttribute), 1);
}

TEST(Upgrade, SaysWhatItCannotDoAndChangesNothing) {
  OneNode one("onnx.TopK", {{"k", int64_t{2}}, {"axes", int64_t{0}}});
  Value* y =
      one.graph.add_untyped("onnx.Squeeze", {one.node->output()}, {{"axes", std::vector<int64_t>{0}}}, 1)->output();
  one.graph.mark_output(y, "z");
  EXPECT_THAT(onnx::upgrade(one.graph, 9), ElementsAre("TopK \"it\""));
  EXPECT_EQ(y->producer()->inputs().size(), 1U);
  OneNode choice("onnx.If", {{"then_branch", std::make_shared<Graph>("then")}});
  EXPECT_THAT(onnx::upgrade(choice.graph, 11), ElementsAre("If \"it\""));
  OneNode norm("onnx.BatchNormalization", {{"spatial", int64_t{0}}});
  EXPECT_EQ(onnx::upgrade(norm.graph, 8).size(), 1U);
  OneNode oldest("onnx.Add", {});
  EXPECT_EQ(onnx::upgrade(oldest.graph, 6).size(), 1U);
}

}  // namespace
}  // namespace thalweg
