// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph.h"

#include <gtest/gtest.h>

#include "runtime/specialize.h"
#include "thalweg/ops.h"

namespace thalweg {
namespace {

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Graph, UnknownOpNamesTheNearest) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2}});
  const std::string message = message_of([&] { graph.add("rellu", {x}); });
  EXPECT_NE(message.find("unknown op 'rellu'"), std::string::npos) << message;
  EXPECT_NE(message.find("relu"), std::string::npos) << message;
}

TEST(Graph, UnknownAttributeNamesTheNearest) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2, 3}});
  const auto refusal = [&](const char* op, const Attributes& attrs) {
    return message_of([&] { graph.add(op, {x}, attrs, "here"); });
  };
  EXPECT_EQ(refusal("layer_norm", {{"epsilom", 1e-5}}),
            "layer_norm 'here': has no attribute 'epsilom'; nearest known: epsilon, axis (inputs: x f32[2,3])");
  EXPECT_EQ(refusal("square", {{"alpha", 1.0}}), "square 'here': has no attributes, got 'alpha' (inputs: x f32[2,3])");
}

TEST(Graph, AttributesKeepToTheirDeclaration) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2, 3}});
  const auto refusal = [&](const char* op, const Attributes& attrs) {
    return message_of([&] { graph.add(op, {x}, attrs, "here"); });
  };
  EXPECT_EQ(refusal("layer_norm", {{"epsilon", std::string("small")}}),
            "layer_norm 'here': epsilon must be of kind real (inputs: x f32[2,3])");
  EXPECT_EQ(refusal("layer_norm", {{"epsilon", -1.0}}),
            "layer_norm 'here': epsilon must be at least 0, got -1 (inputs: x f32[2,3])");
  EXPECT_EQ(refusal("dropout", {{"probability", 1.5}}),
            "dropout 'here': probability must be between 0 and 1, got 1.5 (inputs: x f32[2,3])");
  EXPECT_EQ(refusal("pad", {{"pads", std::vector<int64_t>(4)}, {"mode", std::string("mirror")}}),
            "pad 'here': unknown mode 'mirror'; known: constant, reflect, edge (inputs: x f32[2,3])");
  EXPECT_EQ(refusal("tile", {}),
            "tile 'here': attribute 'repeats' is missing: one for each dimension (inputs: x f32[2,3])");
  EXPECT_EQ(refusal("reduce_sum", {{"keep_dims", int64_t{2}}}),
            "reduce_sum 'here': keep_dims must be 0 or 1, got 2 (inputs: x f32[2,3])");
  Node* norm = graph.add("layer_norm", {x}, {{"epsilon", int64_t{1}}});
  EXPECT_EQ(norm->attrs().real("epsilon"), 1.0);
  EXPECT_THROW(graph.set_attribute(norm, "epsilon", -1.0), Error);
}

TEST(Graph, AbsentAttributesTakeTheDeclaredDefault) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2, 3}});
  const Attributes& attrs = graph.add("layer_norm", {x})->attrs();
  EXPECT_EQ(attrs.real("epsilon"), 1e-5);
  EXPECT_EQ(attrs.integer("axis", 7), -1);
  EXPECT_FALSE(attrs.has("epsilon"));
  EXPECT_EQ(graph.clone()->nodes()[0]->attrs().real("epsilon"), 1e-5);
}

TEST(Graph, RefusesTwoValuesOfOneName) {
  Graph graph;
  graph.input("x", {DType::kF32, {2}});
  EXPECT_THROW(graph.parameter("x", Tensor::zeros(DType::kF32, {1})), Error);
}

TEST(Graph, RefusesValuesThatCannotBeCounted) {
  Graph graph;
  const int64_t large = int64_t{1} << 30;
  EXPECT_NE(message_of([&] { graph.input("x", {DType::kF32, {large, large}}); }).find("'x'"), std::string::npos);
  // Strides multiply what lies inside of an empty dimension as well.
  EXPECT_THROW(graph.input("x", {DType::kF32, {0, large, large}}), Error);
  Value* x = graph.input("x", {DType::kF32, {kFree, large}});
  const std::string message = message_of([&] { ops::tile(x, {1, 2048}); });
  EXPECT_NE(message.find("too many elements"), std::string::npos) << message;
}

TEST(Graph, RefusesValuesOfAnotherGraph) {
  Graph one, two;
  Value* a = one.input("a", {DType::kF32, {2}});
  Value* b = two.input("b", {DType::kF32, {2}});
  EXPECT_NE(message_of([&] { ops::add(a, b); }).find("another graph"), std::string::npos);
}

TEST(Graph, SpecializeSettlesFreeDimensions) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {kFree, 4}});
  Value* w = graph.parameter("w", Tensor::zeros(DType::kF32, {4}));
  graph.mark_output(ops::reshape(ops::mul(x, w), {0, 2, -1}));
  EXPECT_EQ(graph.outputs()[0]->shape(), (Shape{kFree, 2, 2}));
  const auto fixed = specialize(graph, {{DType::kF32, {3, 4}}});
  EXPECT_EQ(fixed->outputs()[0]->shape(), (Shape{3, 2, 2}));
  fixed->verify();
  const std::string message = message_of([&] { specialize(graph, {{DType::kF32, {3, 5}}}); });
  EXPECT_NE(message.find("'x'"), std::string::npos) << message;
  EXPECT_NE(message.find("[3,5]"), std::string::npos) << message;
}

TEST(Graph, RemovesWhatNothingReads) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2}});
  Value* kept = ops::relu(x);
  ops::exp(ops::sigmoid(x));
  graph.mark_output(kept);
  EXPECT_EQ(graph.remove_dead_nodes(), 2);
  EXPECT_EQ(graph.nodes().size(), 1U);
  graph.verify();
}

TEST(Graph, PrintsOneLineANode) {
  Graph graph("g");
  Value* x = graph.input("x", {DType::kF32, {kFree, 2}});
  graph.mark_output(ops::leaky_relu(x, 0.5));
  EXPECT_EQ(graph.to_string(),
            "graph g\n  input x: f32[?,2]\n  leaky_relu_0: f32[?,2] = leaky_relu(x) negative_slope=0.5\n"
            "  output leaky_relu_0: f32[?,2]\n");
}

TEST(Graph, SortKeepsOrderWhereItCan) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2}});
  Value* a = ops::relu(x);
  Value* b = ops::exp(x);
  Value* c = ops::tanh(a);
  graph.mark_output(c);
  graph.mark_output(b);
  graph.set_inputs(a->producer(), {b});  // a now reads what comes after it
  EXPECT_THROW(graph.verify(), Error);
  graph.sort_nodes();
  graph.verify();
  EXPECT_EQ(graph.nodes()[0]->op_name(), "exp");
  EXPECT_EQ(graph.nodes()[1]->op_name(), "relu");
}

TEST(Attributes, WrongKindIsAnError) {
  Attributes attrs{{"axis", int64_t{1}}};
  EXPECT_EQ(attrs.integer("axis"), 1);
  EXPECT_EQ(attrs.real("axis"), 1.0);
  EXPECT_EQ(attrs.integer("missing", 7), 7);
  EXPECT_THROW((void)attrs.text("axis"), Error);
}

}  // namespace
}  // namespace thalweg
