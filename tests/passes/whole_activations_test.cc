// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "support/op_check.h"
#include "thalweg/ops.h"
#include "thalweg/passes.h"

namespace thalweg {
namespace {

using testing::expect_close;
using testing::random_tensor;
using testing::run_graph;

struct Spelling {
  const char* name;
  const char* op;
  std::function<Value*(Value*)> build;
};

Value* clipped(Value* x) { return ops::clip(ops::add(x, 3.0), 0.0, 6.0); }
Value* constant(Value* x, double value) { return ops::scalar_like(x, value); }
Value* bell(Value* x) { return ops::add(ops::erf(ops::div(x, std::numbers::sqrt2)), 1.0); }
Value* cube(Value* x) { return ops::pow(x, constant(x, 3.0)); }
Value* smooth(Value* x, Value* inner) {
  return ops::mul(ops::mul(x, 0.5), ops::add(ops::tanh(ops::mul(inner, std::sqrt(2 / std::numbers::pi))), 1.0));
}

const Spelling kSpellings[] = {
    {"sigmoid times x", "silu", [](Value* x) { return ops::mul(ops::sigmoid(x), x); }},
    {"x times sigmoid", "silu", [](Value* x) { return ops::mul(x, ops::sigmoid(x)); }},
    {"product, then quotient", "hard_swish", [](Value* x) { return ops::div(ops::mul(x, clipped(x)), 6.0); }},
    {"quotient, then product", "hard_swish", [](Value* x) { return ops::mul(x, ops::div(clipped(x), 6.0)); }},
    {"product with a sixth", "hard_swish", [](Value* x) { return ops::mul(ops::mul(clipped(x), 1.0 / 6), x); }},
    {"x times hard sigmoid", "hard_swish", [](Value* x) { return ops::mul(x, ops::hard_sigmoid(x)); }},
    {"hard sigmoid", "hard_sigmoid", [](Value* x) { return ops::div(clipped(x), 6.0); }},
    {"half of x", "gelu", [](Value* x) { return ops::mul(ops::mul(x, 0.5), bell(x)); }},
    {"half of the product", "gelu", [](Value* x) { return ops::mul(ops::mul(x, bell(x)), 0.5); }},
    {"half of the bell", "gelu", [](Value* x) { return ops::mul(x, ops::mul(bell(x), 0.5)); }},
    {"a power of 3", "gelu_tanh", [](Value* x) { return smooth(x, ops::add(x, ops::mul(cube(x), 0.044715))); }},
    {"products of x", "gelu_tanh",
     [](Value* x) { return smooth(x, ops::add(x, ops::mul(ops::mul(ops::mul(x, x), x), 0.044715))); }},
    {"x times 1 + x^2", "gelu_tanh",
     [](Value* x) { return smooth(x, ops::mul(x, ops::add(ops::mul(ops::square(x), 0.044715), 1.0))); }},
    {"the greater of x and a number", "clip", [](Value* x) { return ops::maximum(x, constant(x, -0.5)); }},
    {"the lesser of a number and x", "clip", [](Value* x) { return ops::minimum(constant(x, 0.5), x); }},
    {"a power of 2", "square", [](Value* x) { return ops::pow(x, constant(x, 2.0)); }},
};

TEST(WholeActivations, EverySpellingBecomesOneNodeOfTheSameMeaning) {
  for (const Spelling& spelling : kSpellings) {
    SCOPED_TRACE(spelling.name);
    Graph graph;
    graph.mark_output(spelling.build(graph.input("x", {DType::kF32, {3, 70}})));
    const Tensor x = random_tensor(DType::kF32, {3, 70}, 1, -5.0, 5.0);
    const Tensor expected = run_graph(graph, {x})[0];
    say_whole_activations(graph);
    ASSERT_EQ(graph.nodes().size(), 1U);
    EXPECT_EQ(graph.nodes()[0]->op_name(), spelling.op);
    expect_close(run_graph(graph, {x})[0], expected, 1e-5, spelling.name);
  }
}

TEST(WholeActivations, WhatOnlyLooksAlikeStays) {
  const std::vector<std::function<Value*(Value*, Value*)>> others = {
      [](Value* x, Value* y) { return ops::mul(y, ops::sigmoid(x)); },
      [](Value* x, Value*) { return ops::mul(ops::mul(x, ops::sigmoid(x)), 2.0); },
      [](Value* x, Value*) { return ops::div(ops::mul(x, clipped(x)), 5.0); },
      [](Value* x, Value*) { return ops::mul(x, ops::clip(ops::add(x, 2.0), 0.0, 6.0)); },
      [](Value* x, Value* y) { return ops::mul(ops::mul(x, 0.5), bell(y)); },
      [](Value* x, Value*) { return smooth(x, ops::add(x, ops::mul(cube(x), 0.05))); },
      [](Value* x, Value* y) { return smooth(x, ops::add(y, ops::mul(cube(x), 0.044715))); },
  };
  for (size_t i = 0; i < others.size(); ++i) {
    SCOPED_TRACE(i);
    Graph graph;
    Value* x = graph.input("x", {DType::kF32, {2, 9}});
    Value* y = graph.input("y", {DType::kF32, {2, 9}});
    graph.mark_output(others[i](x, y));
    const std::vector<Tensor> inputs{random_tensor(DType::kF32, {2, 9}, 1, -4, 4),
                                     random_tensor(DType::kF32, {2, 9}, 2)};
    const Tensor expected = run_graph(graph, inputs)[0];
    say_whole_activations(graph);
    expect_close(run_graph(graph, inputs)[0], expected, 1e-5, "other " + std::to_string(i));
  }
}

TEST(WholeActivations, GradientsAreThoseOfTheSpelling) {
  for (const Spelling& spelling : kSpellings) {
    SCOPED_TRACE(spelling.name);
    testing::check_fast_path({{{2, 33}}},
                             [&](const std::vector<Value*>& v) { return std::vector<Value*>{spelling.build(v[0])}; });
  }
}

}  // namespace
}  // namespace thalweg
