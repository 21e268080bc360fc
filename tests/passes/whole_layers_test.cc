// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "support/op_check.h"
#include "thalweg/ops.h"
#include "thalweg/passes.h"

namespace thalweg {
namespace {

using testing::expect_close;
using testing::random_tensor;
using testing::run_graph;

using Values = std::vector<Value*>;
using Build = std::function<Value*(const Values& inputs)>;

size_t count(const Graph& graph, const std::string& op) {
  size_t found = 0;
  for (const auto& node : graph.nodes()) found += node->op_name() == op ? 1 : 0;
  return found;
}

/// Runs what `build` makes before and after the pass, which must leave as many nodes of `op` as said.
void check(const std::vector<Shape>& shapes, const Build& build, const std::string& op, size_t expected_count,
           size_t expected_nodes = 0) {
  Graph graph;
  Values inputs;
  std::vector<Tensor> given;
  for (const Shape& shape : shapes) {
    inputs.push_back(graph.input("x" + std::to_string(inputs.size()), {DType::kF32, shape}));
    given.push_back(random_tensor(DType::kF32, shape, inputs.size()));
  }
  graph.mark_output(build(inputs));
  const Tensor expected = run_graph(graph, given)[0];
  say_whole_layers(graph);
  graph.verify();
  EXPECT_EQ(count(graph, op), expected_count) << graph.to_string();
  EXPECT_TRUE(expected_nodes == 0 || graph.nodes().size() == expected_nodes) << graph.to_string();
  expect_close(run_graph(graph, given)[0], expected, 2e-5, op);
}

Value* mean(Value* x, const std::vector<int64_t>& axes) { return ops::reduce_mean(x, axes, true); }
Value* number(Value* x, double value) { return ops::scalar_like(x, value); }

Value* spelled_norm(Value* x, const std::vector<int64_t>& axes, bool squares = true) {
  Value* centred = ops::sub(x, mean(x, axes));
  Value* square = squares ? ops::square(centred) : ops::mul(centred, centred);
  return ops::div(centred, ops::sqrt(ops::add(mean(square, axes), number(x, 1e-3))));
}

TEST(WholeLayers, LayerNormInItsSpellings) {
  for (const Shape& shape : std::vector<Shape>{{2, 5, 33}, {1, 1}, {3, 64}}) {
    const Shape last{shape[-1]};
    check(
        {shape}, [](const Values& v) { return spelled_norm(v[0], {-1}); }, "layer_norm", 1, 1);
    check(
        {shape, last}, [](const Values& v) { return ops::mul(v[1], spelled_norm(v[0], {-1}, false)); }, "layer_norm", 1,
        1);
    check(
        {shape, last, last}, [](const Values& v) { return ops::add(ops::mul(spelled_norm(v[0], {-1}), v[1]), v[2]); },
        "layer_norm", 1, 1);
  }
  check(
      {{2, 3, 4, 5}, {4, 5}},
      [](const Values& v) {
        return ops::mul(spelled_norm(v[0], {2, 3}), v[1]);
      },
      "layer_norm", 1, 1);
}

TEST(WholeLayers, WhatOnlyLooksLikeALayerNormStays) {
  check(
      {{2, 5, 33}}, [](const Values& v) { return spelled_norm(v[0], {1}); }, "layer_norm", 0);
  check(
      {{2, 5, 33}, {2, 5, 33}},
      [](const Values& v) {
        Value* centred = ops::sub(v[0], mean(v[1], {-1}));
        return ops::div(centred, ops::sqrt(ops::add(mean(ops::square(centred), {-1}), number(v[0], 1e-3))));
      },
      "layer_norm", 0);
  check(
      {{2, 5, 33}, {2, 5, 33}},
      [](const Values& v) {
        Value* centred = ops::sub(v[0], mean(v[0], {-1}));
        return ops::div(centred, ops::sqrt(ops::add(mean(ops::square(v[1]), {-1}), number(v[0], 1e-3))));
      },
      "layer_norm", 0);
  // A scale of another shape does not belong to it.
  check(
      {{2, 5, 33}, {5, 33}}, [](const Values& v) { return ops::mul(spelled_norm(v[0], {-1}), v[1]); }, "layer_norm", 1,
      2);
}

Value* attend(Value* q, Value* keys, Value* v, Value* mask, double scale) {
  Value* scores = ops::mul(ops::matmul(q, keys), number(q, scale));
  if (mask != nullptr) scores = ops::add(scores, mask);
  return ops::matmul(ops::softmax(scores), v);
}

TEST(WholeLayers, AttentionOverHeadsThatComeFirst) {
  const Shape q{2, 3, 5, 8}, k{2, 3, 7, 8}, v{2, 3, 7, 4};
  const auto swapped = [](Value* x) { return ops::transpose(x, {0, 1, 3, 2}); };
  check(
      {q, k, v}, [&](const Values& x) { return attend(x[0], swapped(x[1]), x[2], nullptr, 0.3); }, "attention", 1, 1);
  for (const Shape& mask : std::vector<Shape>{{7}, {5, 7}, {2, 1, 1, 7}, {2, 3, 5, 7}}) {
    check(
        {q, k, v, mask}, [&](const Values& x) { return attend(x[0], swapped(x[1]), x[2], x[3], 0.3); }, "attention", 1,
        1);
  }
  // Both sides scaled before they are multiplied, as PyTorch writes it.
  check(
      {q, k, v},
      [&](const Values& x) {
        Value* left = ops::mul(x[0], number(x[0], 0.5));
        Value* scores = ops::matmul(left, ops::div(swapped(x[1]), number(x[0], 2.0)));
        return ops::matmul(ops::softmax(scores), x[2]);
      },
      "attention", 1);
  check(
      {q, k, v}, [&](const Values& x) { return ops::matmul(ops::softmax(ops::matmul(x[0], x[1], false, true)), x[2]); },
      "attention", 1, 1);
}

TEST(WholeLayers, AttentionOverHeadsThatWereMovedReadsThemWhereTheyLie) {
  const std::vector<Shape> shapes{{2, 5, 3, 8}, {2, 7, 3, 8}, {2, 7, 3, 8}};
  const auto heads = [](Value* x) { return ops::transpose(x, {0, 2, 1, 3}); };
  check(
      shapes,
      [&](const Values& x) {
        return heads(attend(heads(x[0]), ops::transpose(x[1], {0, 2, 3, 1}), heads(x[2]), nullptr, 0.3));
      },
      "transpose", 0, 1);
  check(
      shapes,
      [&](const Values& x) {
        return heads(attend(heads(x[0]), ops::transpose(heads(x[1]), {0, 1, 3, 2}), heads(x[2]), nullptr, 0.3));
      },
      "transpose", 0, 1);
}

/// Probabilities with 0 in rows in which everything is masked, whose softmax is not a number.
Value* guarded(Value* p) { return ops::where(ops::logical_not(ops::equal(p, p)), number(p, 0.0), p); }

TEST(WholeLayers, AttentionWithAGuardForRowsThatSeeNothing) {
  const Shape q{2, 3, 5, 8}, k{2, 3, 7, 8};
  const auto build = [](const Values& x, Value* mask) {
    Value* scores = ops::matmul(x[0], ops::transpose(x[1], {0, 1, 3, 2}));
    if (mask != nullptr) scores = ops::add(scores, mask);
    return ops::matmul(guarded(ops::softmax(scores)), x[2]);
  };
  check(
      {q, k, k}, [&](const Values& x) { return build(x, nullptr); }, "attention", 1, 1);
  check(
      {q, k, k},
      [&](const Values& x) {
        Tensor mask = Tensor::zeros(DType::kF32, {5, 7});
        for (int64_t i = 7; i < 14; ++i) mask.data<float>()[i] = -std::numeric_limits<float>::infinity();
        return build(x, x[0]->graph().constant(mask));
      },
      "attention", 1, 1);
  // Somebody else reads the probabilities.
  check(
      {q, k, k},
      [](const Values& x) {
        Value* p = ops::softmax(ops::matmul(x[0], x[1], false, true));
        return ops::mul(ops::matmul(guarded(p), x[2]), ops::reduce_sum(p, {}, false));
      },
      "attention", 0);
}

TEST(WholeLayers, TransposesOfMergedMatrices) {
  const auto build = [](const std::vector<int64_t>& merged, const std::vector<int64_t>& back) {
    return [=](const Values& x) { return ops::reshape(ops::transpose(ops::reshape(x[0], merged), {0, 2, 1}), back); };
  };
  check({{2, 3, 5, 8}}, build({6, 5, 8}, {2, 3, 8, 5}), "reshape", 0, 1);
  check({{1, 1, 1, 8}}, build({1, 1, 8}, {1, 1, 8, 1}), "reshape", 0, 1);
  check({{2, 3, 5, 8}}, build({6, 5, 8}, {3, 2, 8, 5}), "reshape", 2, 3);
  check({{2, 3, 5, 8}}, build({2, 15, 8}, {2, 3, 8, 5}), "reshape", 2, 3);
}

using Part = std::function<Value*(Value* heads, int64_t number)>;

/// Attention of q, k and v that one projection gives, as image transformers write it.
Value* projected_attention(Value* x, const std::vector<int64_t>& order, const Part& part, Value* mask = nullptr) {
  const Shape& shape = x->shape();
  Value* heads = ops::transpose(ops::reshape(x, {shape[0], shape[1], 3, 4, shape[2] / 12}), order);
  Value* keys = ops::transpose(part(heads, 1), {0, 1, 3, 2});
  Value* y = attend(part(heads, 0), keys, part(heads, 2), mask, 0.3);
  return ops::reshape(ops::transpose(y, {0, 2, 1, 3}), {shape[0], shape[1], shape[2] / 3});
}

Value* sliced(Value* heads, int64_t number) {
  return ops::squeeze(ops::slice(heads, {number}, {number + 1}, {0}), {0});
}

TEST(WholeLayers, AttentionOverThePartsOfAProjectionReadsThemWhereTheyLie) {
  const Part gathered = [](Value* heads, int64_t number) {
    return ops::gather(heads, heads->graph().constant(Tensor::scalar<int64_t>(number)), 0);
  };
  const Part split = [](Value* heads, int64_t number) {
    return ops::squeeze(ops::split(heads, {1, 1, 1}, 0)[static_cast<size_t>(number)], {0});
  };
  for (const Shape& shape : std::vector<Shape>{{2, 5, 96}, {1, 1, 12}}) {
    for (const Part& part : {Part(sliced), gathered, split}) {
      check(
          {shape},
          [&](const Values& x) {
            return projected_attention(x[0], {2, 0, 3, 1, 4}, part);
          },
          "attention", 1, 3);
    }
  }
  check(
      {{2, 5, 96}, {1, 4, 5, 5}},
      [&](const Values& x) {
        return projected_attention(x[0], {2, 0, 3, 1, 4}, sliced, x[1]);
      },
      "attention", 1, 3);
  // Keys and values have changed places; heads lie otherwise.
  const Part changed = [](Value* heads, int64_t number) { return sliced(heads, number == 0 ? 0 : 3 - number); };
  check(
      {{2, 5, 96}},
      [&](const Values& x) {
        return projected_attention(x[0], {2, 0, 3, 1, 4}, changed);
      },
      "slice", 3);
}

TEST(WholeLayers, WhatIsNoAttentionStays) {
  const Shape square{2, 3, 6, 6};
  // A softmax over queries, a mask that does not go along the keys, scores that somebody else reads.
  check(
      {square, square, square},
      [](const Values& x) { return ops::matmul(ops::softmax(ops::matmul(x[0], x[1]), 2), x[2]); }, "attention", 0);
  check(
      {square, square, square, {6, 1}},
      [](const Values& x) { return ops::matmul(ops::softmax(ops::add(ops::matmul(x[0], x[1]), x[3])), x[2]); },
      "attention", 0);
  check(
      {square, square, square},
      [](const Values& x) {
        Value* p = ops::softmax(ops::matmul(x[0], x[1]));
        return ops::add(ops::matmul(p, x[2]), p);
      },
      "attention", 0);
  check(
      {square, {1, 1, 6, 6}, square},
      [](const Values& x) { return ops::matmul(ops::softmax(ops::matmul(x[0], x[1])), x[2]); }, "attention", 0);
}

TEST(WholeLayers, TransposesThatFollowEachOtherJoin) {
  const Shape shape{2, 3, 4, 5};
  check(
      {shape},
      [](const Values& x) {
        return ops::tanh(ops::transpose(ops::transpose(x[0], {0, 2, 3, 1}), {0, 3, 1, 2}));
      },
      "transpose", 0, 1);
  check(
      {shape},
      [](const Values& x) {
        return ops::transpose(ops::transpose(x[0], {3, 1, 0, 2}), {1, -1, 0, 2});
      },
      "transpose", 1, 1);
}

}  // namespace
}  // namespace thalweg
