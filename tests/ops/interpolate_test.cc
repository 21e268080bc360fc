// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

struct InterpolateCase {
  Shape x;
  std::vector<int64_t> size;
  const char* mode;
};

const InterpolateCase kCases[] = {
    {{2, 2, 3, 4}, {6, 8}, "nearest"}, {{1, 2, 5, 4}, {3, 7}, "nearest"}, {{2, 2, 5}, {7}, "linear"},
    {{1, 2, 3, 4}, {6, 5}, "linear"},  {{1, 1, 5, 5}, {2, 3}, "linear"},  {{1, 2, 2, 3, 2}, {3, 4, 5}, "linear"},
    {{1, 2, 4, 5}, {7, 6}, "cubic"},   {{1, 1, 1, 1}, {3, 1}, "cubic"},   {{1, 1, 1, 1}, {2, 2}, "linear"},
};

BuildOp build(const InterpolateCase& test, const char* coordinates) {
  return [=](const std::vector<Value*>& v) {
    return std::vector<Value*>{ops::interpolate(v[0], test.size, test.mode, coordinates)};
  };
}

TEST(Interpolate, GradientsMatchCentralDifferences) {
  for (const InterpolateCase& test : kCases) {
    for (const char* coordinates : {"half_pixel", "align_corners", "asymmetric"}) {
      check_gradients({{test.x}}, build(test, coordinates));
    }
  }
}

TEST(Interpolate, FastPathMatchesReference) {
  for (const InterpolateCase& test : kCases) {
    for (const int64_t channels : {1, 17, 32}) {
      Shape x = test.x;
      x[1] = channels;
      for (const char* coordinates : {"half_pixel", "align_corners", "asymmetric"}) {
        check_fast_path({{x}}, build(test, coordinates), "native spatial");
        check_fast_path({{x}}, build(test, coordinates), "native spatial", 1e-2, true, DType::kBF16);
      }
      x[0] = 0;
      check_fast_path({{x}}, build(test, "half_pixel"));
    }
  }
}

std::vector<float> line(const std::vector<float>& x, int64_t size, const std::string& mode,
                        const std::string& coordinates) {
  Graph graph;
  const Shape shape{1, 1, 1, static_cast<int64_t>(x.size())};
  graph.mark_output(ops::interpolate(graph.input("x", {DType::kF32, shape}), {1, size}, mode, coordinates));
  const Tensor y = run_graph(graph, {Tensor::from<float>(shape, x)})[0];
  return {y.data<float>(), y.data<float>() + y.num_elements()};
}

void expect_line(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-5) << i;
}

/// Values of torch.nn.functional.interpolate (nearest-exact for half_pixel), PyTorch 2.15.
TEST(Interpolate, KnownValues) {
  expect_line(line({1, 2, 4}, 6, "nearest", "asymmetric"), {1, 1, 2, 2, 4, 4});
  expect_line(line({1, 2, 4}, 2, "nearest", "half_pixel"), {1, 4});
  expect_line(line({1, 2, 4}, 5, "linear", "align_corners"), {1, 1.5F, 2, 3, 4});
  expect_line(line({1, 2, 4}, 6, "linear", "half_pixel"), {1, 1.25F, 1.75F, 2.5F, 3.5F, 4});
  expect_line(line({1, 2, 4, 8}, 8, "cubic", "half_pixel"),
              {0.89453125F, 1.15625F, 1.5625F, 2.41796875F, 3.16015625F, 5.1171875F, 7.1640625F, 8.421875F});
}

TEST(Interpolate, BadInputIsNamed) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2, 3, 4}});
  const auto message = [&](const std::vector<int64_t>& size, const char* mode, const char* coordinates) {
    try {
      ops::interpolate(x, size, mode, coordinates, "up");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message({8}, "cubic", "half_pixel").find("interpolate 'up'"), std::string::npos);
  EXPECT_NE(message({8}, "area", "half_pixel").find("unknown mode 'area'"), std::string::npos);
  EXPECT_NE(message({8}, "linear", "corner").find("unknown coordinates 'corner'"), std::string::npos);
  EXPECT_NE(message({8, 8}, "linear", "half_pixel").find("[2,3,4]"), std::string::npos);
}

}  // namespace
}  // namespace thalweg::testing
