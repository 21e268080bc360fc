// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

using Values = std::vector<Value*>;

void check_both(const std::vector<Operand>& operands, const BuildOp& build, const std::string& kernel) {
  check_gradients(operands, build);
  check_fast_path(operands, build, kernel, 1e-6);
}

template <typename Build>
void expect_error(Build build, const std::string& part) {
  try {
    build();
    FAIL() << "no error that says " << part;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Concat, JoinsAlongEveryAxis) {
  for (int64_t axis : {0, 1, -1}) {
    const BuildOp build = [axis](const Values& v) { return Values{ops::concat(v, axis)}; };
    Shape a{2, 3, 5}, b{2, 3, 5};
    b[static_cast<int>(axis)] = 1;
    check_both({{a}, {b}, {a}}, build, "native concat");
  }
  const BuildOp build = [](const Values& v) { return Values{ops::concat(v, 1)}; };
  check_both({{{1, 1}}, {{1, 1}}}, build, "native concat");
  check_both({{{0, 2}}, {{0, 3}}}, build, "reference");
}

/// Convolutions leave their results in a blocked layout on some machines.
Value* convolved(Value* x, Value* weight) { return ops::conv(x, weight); }

TEST(Concat, KeepsTheLayoutOfConvolutions) {
  for (int64_t channels : {32, 5}) {
    const BuildOp build = [](const Values& v) {
      Value* joined = ops::concat({convolved(v[0], v[1]), convolved(v[0], v[2]), v[0]}, 1);
      return Values{convolved(joined, v[3])};
    };
    check_fast_path({{{2, 16, 5, 5}}, {{channels, 16, 1, 1}}, {{16, 16, 1, 1}}, {{8, channels + 32, 1, 1}}}, build,
                    "native concat", 1e-4);
  }
}

TEST(Split, UndoesConcat) {
  const BuildOp build = [](const Values& v) { return ops::split(v[0], {1, 3, 2}, 1); };
  check_both({{{2, 6, 3}}}, build, "native split");
  const BuildOp partly = [](const Values& v) { return Values{ops::split(v[0], {1, 3, 2}, -2)[1]}; };
  check_both({{{2, 6, 3}}}, partly, "native split");
  check_both({{{0, 6, 3}}}, build, "reference");
  const BuildOp blocked = [](const Values& v) { return ops::split(convolved(v[0], v[1]), {16, 32}, 1); };
  check_fast_path({{{2, 16, 5, 5}}, {{48, 16, 1, 1}}}, blocked, "native split", 1e-4);
}

TEST(Split, PartsMustAddUp) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2, 6}});
  expect_error([&] { ops::split(x, {2, 3}, 1); }, "do not make up 6");
}

TEST(Slice, FollowsPython) {
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
  const struct {
    std::vector<int64_t> starts, ends, axes, steps;
  } cases[] = {{{1}, {3}, {0}, {}},
               {{-3}, {100}, {1}, {}},
               {{0, 1}, {4, 4}, {0, 2}, {2, 1}},
               {{-1}, {-100}, {1}, {-2}},
               {{0}, {100}, {-1}, {}},
               {{2}, {3}, {2}, {}},
               {{1}, {kLast}, {0}, {kLast}},
               {{-1}, {-kLast}, {1}, {-kLast - 1}}};
  for (const auto& test : cases) {
    const BuildOp build = [&](const Values& v) {
      return Values{ops::slice(v[0], test.starts, test.ends, test.axes, test.steps)};
    };
    check_both({{{4, 5, 6}}}, build, "native slice");
  }
  const BuildOp and_back = [](const Values& v) {
    Value* part = ops::slice(v[0], {1}, {3}, {0});
    Attributes attrs = part->producer()->attrs();
    attrs.set("sizes", std::vector<int64_t>{4});
    return Values{v[0]->graph().add("slice_grad", {part}, attrs)->output()};
  };
  check_both({{{4, 5}}}, and_back, "native slice_grad");
  const BuildOp nothing = [](const Values& v) { return Values{ops::slice(v[0], {3}, {3}, {0})}; };
  check_both({{{4, 5}}}, nothing, "reference");
}

TEST(Slice, ADimensionIsCutOnce) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {10}});
  expect_error([&] { ops::slice(x, {5, 0}, {10, 10}, {0, -1}); }, "dimension 0 appears twice");
}

TEST(Slice, CutsBlockedChannels) {
  for (int64_t begin : {16, 3}) {
    const BuildOp build = [begin](const Values& v) {
      return Values{ops::slice(convolved(v[0], v[1]), {begin}, {begin + 16}, {1})};
    };
    check_fast_path({{{2, 16, 5, 5}}, {{48, 16, 1, 1}}}, build, "native slice", 1e-4);
  }
}

TEST(Slice, OfAFreeDimensionHasAGradient) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {kFree, 3}});
  graph.mark_output(ops::slice(x, {0}, {1}, {0}));
  const auto out = run_graph(graph, {random_tensor(DType::kF32, {4, 3}, 1)});
  EXPECT_EQ(out[0].shape(), (Shape{1, 3}));
}

TEST(Reshape, WhatIsLeftIsKnownOfAnEmptyBatchToo) {
  const auto shape_after = [](const Shape& from, const std::vector<int64_t>& to) {
    Graph graph("reshape");
    return ops::reshape(graph.input("x", {DType::kF32, from}), to)->shape();
  };
  EXPECT_EQ(shape_after({0, 512, 1, 1}, {0, -1}), Shape({0, 512}));
  EXPECT_EQ(shape_after({0, 6, 4}, {0, 3, -1}), Shape({0, 3, 8}));
  EXPECT_EQ(shape_after({2, 6, 4}, {0, 3, -1}), Shape({2, 3, 8}));
  EXPECT_EQ(shape_after({0, 6}, {-1, 2}), Shape({0, 2}));
  expect_error([&] { shape_after({0, 5, 4}, {0, 3, -1}); }, "cannot see");
  const int64_t huge = int64_t{1} << 40;
  expect_error([&] { shape_after({0, 2, 3}, {0, huge, huge, -1}); }, "too many elements");
}

TEST(Transpose, PermutesAndIsReadInPlaceByProducts) {
  for (const auto& permutation : std::vector<std::vector<int64_t>>{{}, {0, 2, 1}, {1, 0, 2}, {-1, 0, 1}}) {
    const BuildOp build = [&](const Values& v) { return Values{ops::transpose(v[0], permutation)}; };
    check_both({{{3, 4, 5}}}, build, "strided view");
  }
  const BuildOp heads = [](const Values& v) {
    return Values{ops::matmul(ops::transpose(v[0], {0, 2, 1, 3}), ops::transpose(v[1], {0, 2, 1, 3}), false, true)};
  };
  check_fast_path({{{2, 5, 3, 4}}, {{2, 7, 3, 4}}}, heads, "strided view");
  check_both(
      {{{0, 4}}}, [](const Values& v) { return Values{ops::transpose(v[0])}; }, "reference");
  // oneDNN has no 64-bit integers, hence no view of them with strides.
  for (const Shape& shape : {Shape{3, 5, 1}, Shape{4, 2, 6}}) {
    check_fast_path(
        {{shape, 0, 9, DType::kI64}}, [](const Values& v) { return Values{ops::transpose(v[0])}; }, "native transpose");
  }
  Graph graph;
  Value* x = graph.input("x", {DType::kI64, {2, 3}});
  graph.mark_output(ops::transpose(x));
  const auto out = run_graph(graph, {Tensor::from<int64_t>({2, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(out[0].data<int64_t>()[1], 4);
}

TEST(Transpose, RearrangesBlockedChannelsOnce) {
  for (const int64_t channels : {16, 17}) {
    const BuildOp build = [](const Values& v) {
      Value* last = ops::transpose(ops::conv(v[0], v[1]), {0, 2, -1, 1});
      return Values{ops::tanh(last), ops::conv(ops::transpose(ops::mul(last, 2.0), {0, 3, 1, 2}), v[1])};
    };
    check_fast_path({{{2, channels, 5, 7}}, {{channels, channels, 1, 1}}}, build, "strided view", 1e-4, false);
  }
}

TEST(Transpose, RefusesAPermutationWithRepeats) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2, 3}});
  expect_error([&] { ops::transpose(x, {0, 0}); }, "appears twice");
  expect_error([&] { ops::transpose(x, {0}); }, "for 2 dimensions");
}

TEST(Pad, HasThreeModes) {
  for (const char* mode : {"constant", "reflect", "edge"}) {
    const BuildOp build = [mode](const Values& v) { return Values{ops::pad(v[0], {0, 1, 2, 0, 2, 1}, mode, 0.5)}; };
    // The gradient of a constant margin is a pad with the signs turned.
    const std::string gradient = std::string(mode) == "constant" ? "native pad" : "native pad_grad";
    check_both({{{2, 3, 4}}}, build, "native pad");
    check_both({{{1, 3, 5}}}, build, gradient);
    check_both({{{0, 3, 4}}}, build, "reference");
    check_fast_path({{{20, 30, 40}}}, build, gradient);
    const BuildOp wide = [mode](const Values& v) { return Values{ops::pad(v[0], {0, 70, 0, 71}, mode)}; };
    check_fast_path({{{3, 75}}}, wide, gradient);
  }
  check_both(
      {{{4, 5}}},
      [](const Values& v) {
        return Values{ops::pad(v[0], {-1, 1, 1, -2})};
      },
      "native pad");
  check_both(
      {{{1, 1}}},
      [](const Values& v) {
        return Values{ops::pad(v[0], {0, 1, 0, 1})};
      },
      "native pad");
  check_both(
      {{{0, 5}}},
      [](const Values& v) {
        return Values{ops::pad(v[0], {0, 1, 0, 1})};
      },
      "reference");
}

TEST(Pad, RefusesWhatDoesNotFit) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2, 3}});
  expect_error([&] { ops::pad(x, {1, 1}); }, "2 pads for 2 dimensions");
  expect_error([&] { ops::pad(x, {2, 0, 0, 0}, "reflect"); }, "too small for mode reflect");
  expect_error([&] { ops::pad(x, {0, 0, 0, 0}, "wrap"); }, "unknown mode 'wrap'");
  expect_error([&] { ops::pad(x, {-1, 0, -2, 0}); }, "would have size -1");
}

TEST(Reshape, PassesTheGradientOn) {
  const BuildOp build = [](const Values& v) {
    Value* flat = ops::reshape(v[0], {0, -1});
    return Values{flat, v[0]->graph().add("reshape_like", {flat, v[1]})->output()};
  };
  check_both({{{2, 3, 5}}, {{5, 6}, -1, 1, DType::kF64, false}}, build, "");
}

TEST(StopGradient, IsTheSameMemory) {
  for (const Shape& shape : {Shape{3, 5}, Shape{1, 4}, Shape{0, 3}}) {
    check_fast_path(
        {{shape}}, [](const Values& v) { return Values{ops::mul(ops::stop_gradient(ops::exp(v[0])), v[0])}; }, "",
        1e-6);
  }
}

TEST(ElementCount, IsKnownFromTheShape) {
  for (const Shape& shape : {Shape{3, 5}, Shape{1, 4}, Shape{0, 3}}) {
    for (const auto& axes : std::vector<std::vector<int64_t>>{{}, {0}, {1}}) {
      check_fast_path(
          {{shape}}, [&](const Values& v) { return Values{ops::element_count(v[0], axes)}; }, "element_count", 0,
          false);
    }
  }
}

TEST(Expand, Broadcasts) {
  check_both(
      {{{3, 1}}},
      [](const Values& v) {
        return Values{ops::expand(v[0], {2, 0, 4})};
      },
      "native expand");
  check_both(
      {{{1}}}, [](const Values& v) { return Values{ops::expand(v[0], {5})}; }, "native expand");
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {3}});
  expect_error([&] { ops::expand(x, {4}); }, "does not expand to 4");
  check_both(
      {{{0, 1}}},
      [](const Values& v) {
        return Values{ops::expand(v[0], {0, 3})};
      },
      "reference");
}

TEST(Tile, Repeats) {
  check_both(
      {{{2, 3}}},
      [](const Values& v) {
        return Values{ops::tile(v[0], {3, 2})};
      },
      "native tile");
  check_both(
      {{{1, 3, 1}}},
      [](const Values& v) {
        return Values{ops::tile(v[0], {1, 1, 2})};
      },
      "native tile_grad");
  check_fast_path(
      {{{20, 30, 40}}},
      [](const Values& v) {
        return Values{ops::tile(v[0], {2, 1, 3})};
      },
      "native tile_grad");
  check_both(
      {{{0, 3}}},
      [](const Values& v) {
        return Values{ops::tile(v[0], {2, 2})};
      },
      "reference");
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {3}});
  expect_error([&] { ops::tile(x, {0}); }, "repeats must be at least 1, got 0");
}

}  // namespace
}  // namespace thalweg::testing
