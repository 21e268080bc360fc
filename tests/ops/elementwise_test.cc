// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

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
  for (const auto& [a, b] : std::vector<std::pair<Shape, Shape>>{
           {{3, 17}, {3, 17}}, {{2, 3, 5}, {3, 1}}, {{1}, {1}}, {{0, 4}, {4}}, {{2, 16, 7, 7}, {1, 16, 1, 1}}}) {
    check_fast_path({{a, 0.5, 1.5}, {b, 1.6, 2.5}}, build());
  }
}

INSTANTIATE_TEST_SUITE_P(All, BinaryOp,
                         ::testing::Values(BinaryCase{"add", ops::add}, BinaryCase{"sub", ops::sub},
                                           BinaryCase{"mul", ops::mul}, BinaryCase{"div", ops::div},
                                           BinaryCase{"pow", ops::pow}, BinaryCase{"minimum", ops::minimum},
                                           BinaryCase{"maximum", ops::maximum}),
                         [](const auto& test) { return test.param.name; });

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

}  // namespace
}  // namespace thalweg::testing
