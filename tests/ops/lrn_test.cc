// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

BuildOp build(int64_t size, double beta = 0.75) {
  return [=](const std::vector<Value*>& v) { return std::vector<Value*>{ops::lrn(v[0], size, 0.5, beta, 1.5)}; };
}

TEST(Lrn, GradientsMatchCentralDifferences) {
  for (const int64_t size : {1, 3, 4, 5}) check_gradients({{{2, 7, 2, 3}}}, build(size));
  check_gradients({{{2, 3, 2}}}, build(5, 0.6));
}

TEST(Lrn, FastPathMatchesReference) {
  for (const int64_t channels : {1, 3, 17, 32, 64}) {
    for (const int64_t size : {4, 5}) {
      check_fast_path({{{2, channels, 5, 4}}}, build(size), "native lrn");
      check_fast_path({{{2, channels, 5, 4}}}, build(size), "native lrn", 1e-2, true, DType::kBF16);
    }
    check_fast_path({{{2, channels, 5}}}, build(5, 0.6), "native lrn");
    check_fast_path({{{2, channels, 5}}}, build(5, 0.5), "native lrn");
    const auto after_conv = [](const std::vector<Value*>& v) {
      return std::vector<Value*>{ops::lrn(ops::conv(v[0], v[1]), 5, 0.5)};
    };
    check_fast_path({{{2, channels, 5, 4}}, {{channels, channels, 1, 1}}}, after_conv, "native lrn");
  }
  check_fast_path({{{0, 16, 5, 4}}}, build(5));
}

TEST(Lrn, BadInputIsNamed) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2, 3, 4, 4}});
  try {
    ops::lrn(x, 0, 1, 1, 1, "norm1");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("lrn 'norm1'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("[2,3,4,4]"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace thalweg::testing
