// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

const std::vector<std::pair<Shape, Shape>> kBroadcasts{
    {{3, 17}, {3, 17}}, {{2, 3, 5}, {3, 1}}, {{1}, {1}}, {{0, 4}, {4}}, {{2, 16, 7, 7}, {1, 16, 1, 1}}};

struct BinaryCase {
  const char* name;
  Value* (*build)(Value*, Value*, const std::string&);
};

class BinaryOp : public ::testing::TestWithParam<BinaryCase> {
 protected:
  BuildOp build() const {
    return [this](const std::vector<Value*>& v) { return std::vector<Value*>{GetParam().build(v[0], v[1], "")}; };
  }
};

TEST_P(BinaryOp, GradientsMatchCentralDifferences) {
  for (const auto& [a, b] : std::vector<std::pair<Shape, Shape>>{{{3, 4}, {3, 4}}, {{2, 3, 4}, {3, 1}}, {{1}, {5}}}) {
    check_gradients({{a, 0.5, 1.5}, {b, 1.6, 2.5}}, build());
  }
}

TEST_P(BinaryOp, FastPathMatchesReference) {
  for (const auto& [a, b] : kBroadcasts) check_fast_path({{a, 0.5, 1.5}, {b, 1.6, 2.5}}, build());
}

INSTANTIATE_TEST_SUITE_P(All, BinaryOp,
                         ::testing::Values(BinaryCase{"add", ops::add}, BinaryCase{"sub", ops::sub},
                                           BinaryCase{"mul", ops::mul}, BinaryCase{"div", ops::div},
                                           BinaryCase{"pow", ops::pow}, BinaryCase{"minimum", ops::minimum},
                                           BinaryCase{"maximum", ops::maximum}),
                         [](const auto& test) { return test.param.name; });

TEST(Modulo, GradientsMatchCentralDifferences) {
  for (const bool truncated : {false, true}) {
    const BuildOp build = [truncated](const std::vector<Value*>& v) {
      return std::vector<Value*>{ops::modulo(v[0], v[1], truncated)};
    };
    // No quotient is near a whole number, where the rest jumps.
    check_gradients({{{3, 4}, 5.2, 5.8}, {{4}, 1.95, 2.05}}, build);
    check_gradients({{{3, 4}, -5.8, -5.2}, {{3, 1}, 1.95, 2.05}}, build);
  }
}

TEST(Modulo, FastPathMatchesReference) {
  for (const bool truncated : {false, true}) {
    const BuildOp build = [truncated](const std::vector<Value*>& v) {
      return std::vector<Value*>{ops::modulo(v[0], v[1], truncated)};
    };
    for (const auto& [a, b] : kBroadcasts) check_fast_path({{a, -90, 90}, {b, 0.7, 0.8}}, build, "", 2e-5, false);
    check_fast_path({{{3, 1001}, -1e30, 1e30}, {{1001}, -2, 2}}, build, "native", 0, false);
    check_fast_path({{{7, 300}, -9, 9}, {{7, 1}, -4, -3}}, build, "native", 0, false);
  }
  Graph graph;
  const float inf = std::numeric_limits<float>::infinity();
  Value* a = graph.constant(Tensor::from<float>({5}, {-1, 1, 5, inf, -0.5F}));
  graph.mark_output(ops::modulo(a, graph.constant(Tensor::from<float>({5}, {inf, inf, 0, 2, 2}))));
  const Tensor rests = run_graph(graph, {})[0];
  EXPECT_EQ(rests.data<float>()[0], inf);
  EXPECT_EQ(rests.data<float>()[1], 1);
  EXPECT_TRUE(std::isnan(rests.data<float>()[2]) && std::isnan(rests.data<float>()[3]));
  EXPECT_EQ(rests.data<float>()[4], 1.5F);
}

TEST(PRelu, MultipliesWhatIsBelowZero) {
  const BuildOp build = [](const std::vector<Value*>& v) {
    return std::vector<Value*>{v[0]->graph().add("prelu", {v[0], v[1]})->output()};
  };
  for (const auto& [a, b] : kBroadcasts) check_fast_path({{a}, {b, -0.5, 1.5}}, build);
  check_gradients({{{2, 3, 4}}, {{3, 1}}}, build);
  const BuildOp by_channel = [](const std::vector<Value*>& v) { return std::vector<Value*>{ops::prelu(v[0], v[1])}; };
  check_fast_path({{{2, 3, 5, 1}}, {{3}}}, by_channel);
  check_fast_path({{{2, 3, 5, 1}}, {{1}}}, by_channel);
}

TEST(Comparison, FastPathMatchesReference) {
  for (Value* (*compare)(Value*, Value*) : {ops::equal, ops::less, ops::less_equal, ops::greater, ops::greater_equal}) {
    // Rounding to whole numbers makes many of them equal.
    const BuildOp build = [compare](const std::vector<Value*>& v) {
      return std::vector<Value*>{compare(ops::round(v[0]), ops::round(v[1]))};
    };
    for (const auto& [a, b] : kBroadcasts) check_fast_path({{a, 0, 3}, {b, 0, 3}}, build);
  }
}

TEST(Where, ChoosesAndPassesTheGradientOn) {
  const BuildOp build = [](const std::vector<Value*>& v) { return std::vector<Value*>{ops::where(v[0], v[1], v[2])}; };
  for (const auto& [a, b] : kBroadcasts) check_fast_path({{a, 0, 2, DType::kBool}, {a}, {b}}, build);
  check_gradients({{{3, 1}, 0, 2, DType::kBool}, {{2, 3, 4}}, {{4}}}, build);
}

TEST(Cast, PassesTheGradientOn) {
  const BuildOp build = [](const std::vector<Value*>& v) {
    return std::vector<Value*>{ops::cast(ops::mul(v[0], v[0]), DType::kF32)};
  };
  // Results in single precision carry no small difference.
  check_gradients({{{3, 4}}}, build, {1e-2, 1e-4});
}

TEST(Elementwise, ShapesThatDoNotFitNameTheOp) {
  Graph graph;
  Value* a = graph.input("a", {DType::kF32, {2, 3}});
  Value* b = graph.input("b", {DType::kF32, {2, 4}});
  try {
    ops::add(a, b, "sum");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("add 'sum'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("[2,4]"), std::string::npos) << error.what();
  }
}

/// An activation stays in the layout of the convolution before it when an operand has an element for each channel or
/// position.
TEST(Elementwise, BroadcastsOverBlockedChannels) {
  using Binary = Value* (*)(Value*, Value*);
  const std::vector<Binary> functions = {[](Value* a, Value* b) { return ops::add(a, b); },
                                         [](Value* a, Value* b) { return ops::sub(b, a); },
                                         [](Value* a, Value* b) { return ops::mul(a, b); },
                                         [](Value* a, Value* b) { return ops::div(b, ops::exp(a)); },
                                         [](Value* a, Value* b) { return ops::maximum(a, b); },
                                         [](Value* a, Value* b) {
                                           return a->graph().add("prelu", {a, b})->output();
                                         }};
  for (const int64_t channels : {1, 16, 17, 32}) {
    const std::vector<Shape> smalls = {{1, channels, 1, 1}, {2, channels, 1, 1}, {channels, 1, 1},
                                       {2, 1, 5, 37},       {1, 1, 5, 37},       {5, 37},
                                       {2, 1, 1, 1},        {1, channels, 5, 1}};
    for (const Shape& small : smalls) {
      for (const Binary& function : functions) {
        std::ostringstream what;
        what << channels << " channels and " << small;
        SCOPED_TRACE(what.str());
        const BuildOp build = [&](const std::vector<Value*>& v) {
          return std::vector<Value*>{ops::conv(function(ops::conv(v[0], v[1]), v[2]), v[1])};
        };
        check_fast_path({{{2, channels, 5, 37}}, {{channels, channels, 1, 1}}, {small, 0.5, 1.5}}, build, "", 1e-4,
                        false);
      }
    }
  }
  const BuildOp excite = [](const std::vector<Value*>& v) {
    return std::vector<Value*>{ops::conv(ops::mul(ops::conv(v[0], v[1]), v[2]), v[1])};
  };
  check_fast_path({{{2, 32, 8, 8}}, {{32, 32, 3, 3}}, {{2, 32, 1, 1}}}, excite, "native channels", 1e-4, false);
}

TEST(Composed, IsNanTellsNumbersFromWhatIsNone) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {3}});
  graph.mark_output(graph.add("is_nan", {x})->output());
  const Tensor y = run_graph(graph, {Tensor::from<float>({3}, {1, std::nanf(""), INFINITY})})[0];
  for (int i = 0; i < 3; ++i) EXPECT_EQ(y.data<bool>()[i], i == 1) << i;
}

}  // namespace
}  // namespace thalweg::testing
