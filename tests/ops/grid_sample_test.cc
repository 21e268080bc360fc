// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/error_text.h"
#include "support/op_check.h"
#include "thalweg/ops/conv.h"

namespace thalweg::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

BuildOp build(const ops::GridSampleOptions& options) {
  return [options](const std::vector<Value*>& v) -> std::vector<Value*> {
    return {ops::grid_sample(v[0], v[1], options)};
  };
}

/// Every way to read, with the name that failures are told by.
std::vector<ops::GridSampleOptions> ways(const std::string& mode) {
  std::vector<ops::GridSampleOptions> all;
  for (const char* padding : {"zeros", "border", "reflection"}) {
    for (const bool align : {false, true}) all.push_back({mode, padding, align});
  }
  return all;
}

/// Places of which some lie up to a picture and a half outside.
std::vector<Operand> operands(Shape x, int64_t height, int64_t width) {
  return {{x}, {{x[0], height, width, 2}, -2.5, 2.5}};
}

TEST(GridSample, GradientsMatchCentralDifferences) {
  for (const ops::GridSampleOptions& way : ways("linear")) {
    SCOPED_TRACE(way.padding_mode + (way.align_corners ? ", corners aligned" : ""));
    check_gradients(operands({2, 3, 4, 5}, 3, 4), build(way));
    check_gradients(operands({1, 2, 1, 3}, 2, 2), build(way));
  }
}

TEST(GridSample, FastPathMatchesReference) {
  for (const char* mode : {"linear", "nearest"}) {
    for (const ops::GridSampleOptions& way : ways(mode)) {
      SCOPED_TRACE(way.mode + ", " + way.padding_mode + (way.align_corners ? ", corners aligned" : ""));
      check_fast_path(operands({2, 5, 7, 9}, 6, 5), build(way), "native grid_sample");
      check_fast_path(operands({1, 1, 1, 1}, 1, 1), build(way), "native grid_sample");
      check_fast_path(operands({1, 3, 6, 5}, 20, 30), build(way), "native grid_sample");  // several blocks of places
    }
  }
  check_fast_path(operands({0, 3, 4, 4}, 2, 2), build({}));
  check_fast_path(operands({1, 3, 4, 4}, 0, 2), build({}));
}

std::vector<float> read(const ops::GridSampleOptions& options, const std::vector<float>& picture, int64_t width,
                        const std::vector<float>& places) {
  Graph graph;
  const auto height = static_cast<int64_t>(picture.size()) / width, count = static_cast<int64_t>(places.size()) / 2;
  Value* x = graph.input("x", {DType::kF32, {1, 1, height, width}});
  Value* grid = graph.input("grid", {DType::kF32, {1, 1, count, 2}});
  graph.mark_output(ops::grid_sample(x, grid, options));
  const Tensor y = run_graph(
      graph, {Tensor::from<float>({1, 1, height, width}, picture), Tensor::from<float>({1, 1, count, 2}, places)})[0];
  return {y.data<float>(), y.data<float>() + y.num_elements()};
}

TEST(GridSample, ReadsWhereTheGridSays) {
  const std::vector<float> picture{0, 1, 2, 3, 4, 5};  // two rows of three
  // The outermost elements, the middle, half outside to the left, and far outside.
  const std::vector<float> places{-1, -1, 1, 1, 0, 0, -1, 0, 5, 5};
  EXPECT_THAT(read({"linear", "zeros", true}, picture, 3, places), ElementsAre(0, 5, 2.5F, 1.5F, 0));
  EXPECT_THAT(read({"linear", "zeros", false}, picture, 3, places), ElementsAre(0, 1.25F, 2.5F, 0.75F, 0));
  EXPECT_THAT(read({"linear", "border", false}, picture, 3, places), ElementsAre(0, 5, 2.5F, 1.5F, 5));
  EXPECT_THAT(read({"nearest", "border", false}, picture, 3, {0.1F, 0.9F, -9, -9}), ElementsAre(4, 0));
  // One element and a half beyond the edge is half an element before it.
  EXPECT_THAT(read({"linear", "reflection", true}, {0, 1, 2, 3}, 4, {-2, 0}), ElementsAre(1.5F));
}

/// Whatever is given for places, no memory but the picture is read.
TEST(GridSample, BoundsPlacesThatLieFarOutsideOrNowhere) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> places{nan, nan, infinity, -infinity, 1e30F, -1e30F, -3e9F, 3e9F};
  for (const char* mode : {"linear", "nearest"}) {
    for (const ops::GridSampleOptions& way : ways(mode)) {
      for (const float y : read(way, {1, 1, 1, 1, 1, 1}, 3, places)) {
        EXPECT_GE(y, 0.0F) << way.mode << ' ' << way.padding_mode;
        EXPECT_LE(y, 1.0F) << way.mode << ' ' << way.padding_mode;
      }
    }
  }
}

TEST(GridSample, NamesOperandsThatDoNotFit) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2, 3, 4, 4}});
  const auto error_with = [&](const Shape& grid, DType dtype = DType::kF32) {
    Value* given = graph.input("grid" + std::to_string(graph.inputs().size()), {dtype, grid});
    return error_text([&] { ops::grid_sample(x, given); });
  };
  EXPECT_THAT(error_with({2, 5, 5, 3}), HasSubstr("the grid must be [N, H, W, 2]"));
  EXPECT_THAT(error_with({3, 5, 5, 2}), HasSubstr("there are 2 pictures and 3 grids"));
  EXPECT_THAT(error_with({2, 5, 5, 2}, DType::kF64), HasSubstr("the grid of pictures of f32 must be f32"));
}

}  // namespace
}  // namespace thalweg::testing
