// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "ops/ids_rare.h"
#include "support/error_text.h"
#include "support/op_check.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;

BuildOp build(Attributes attrs, int64_t height = 3, int64_t width = 2) {
  attrs.set("output_height", height);
  attrs.set("output_width", width);
  return [attrs](const std::vector<Value*>& v) {
    return v[0]->graph().add(op::kRoiAlign, {v[0], v[1], v[2]}, attrs)->outputs();
  };
}

/// Pictures, regions that reach over their edges, and which picture each region lies in.
std::vector<Operand> operands(Shape x, int64_t regions) {
  const Operand rois{{regions, 4}, -2.0, 9.0, DType::kF64, false};
  return {{x}, rois, {{regions}, 0.0, static_cast<double>(x[0]), DType::kI64}};
}

const std::vector<Attributes> kWays{{},
                                    {{"sampling_ratio", int64_t{2}}, {"spatial_scale", 0.5}},
                                    {{"coordinate_transformation_mode", "output_half_pixel"}}};

TEST(RoiAlign, GradientsMatchCentralDifferences) {
  for (const Attributes& way : kWays) check_gradients(operands({2, 3, 5, 6}, 4), build(way));
}

TEST(RoiAlign, FastPathMatchesReference) {
  for (const Attributes& way : kWays) {
    check_fast_path(operands({2, 5, 7, 9}, 6), build(way), "native roi_align");
    check_fast_path(operands({1, 1, 1, 3}, 1), build(way, 1, 1), "native roi_align");
  }
  check_fast_path(operands({2, 3, 5, 6}, 0), build({}));
  check_fast_path(operands({1, 8, 40, 40}, 3), build({{"spatial_scale", 4.0}}, 7, 7), "native roi_align");
}

TEST(RoiAlign, MeansOfAConstantAreThatConstant) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {1, 1, 8, 8}});
  Value* rois = graph.input("rois", {DType::kF32, {1, 4}});
  Value* picture = graph.constant(Tensor::from<int64_t>({1}, {0}));
  graph.mark_output(build({})({x, rois, picture})[0]);
  const Tensor region = Tensor::from<float>({1, 4}, {1, 1, 6, 5});
  const Tensor y = run_graph(graph, {Tensor::full<float>({1, 1, 8, 8}, 2.5F), region})[0];
  for (int64_t i = 0; i < y.num_elements(); ++i) EXPECT_NEAR(y.data<float>()[i], 2.5F, 1e-5F);
}

/// Whatever a file has for regions: the answer comes at once, and no memory but the picture is read.
TEST(RoiAlign, BoundsRegionsThatReachFarOutside) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const char* kernel : {"native", "reference"}) {
    Graph graph;
    Value* x = graph.input("x", {DType::kF32, {1, 2, 6, 6}});
    Value* rois = graph.input("rois", {DType::kF32, {4, 4}});
    Value* pictures = graph.constant(Tensor::from<int64_t>({4}, {0, 0, 0, 0}));
    graph.mark_output(build({})({x, rois, pictures})[0]);
    const Tensor far =
        Tensor::from<float>({4, 4}, {-1e30F, -1e30F, 1e30F, 1e30F, nan, 0, 5, 5, 0, 0, infinity, 5, 9, 9, 2, 2});
    CompileOptions options;
    options.only_kernels = {kernel};
    const Tensor y = run_graph(graph, {Tensor::full<float>({1, 2, 6, 6}, 1.0F), far}, options)[0];
    for (int64_t i = 0; i < y.num_elements(); ++i) EXPECT_LE(y.data<float>()[i], 1.0F) << kernel << ' ' << i;
  }
}

TEST(RoiAlign, NamesRegionsOfPicturesThatAreNotThere) {
  for (const int64_t picture : {-1, 2}) {
    Graph graph;
    Value* x = graph.input("x", {DType::kF32, {2, 1, 4, 4}});
    Value* rois = graph.input("rois", {DType::kF32, {1, 4}});
    Value* pictures = graph.input("pictures", {DType::kI64, {1}});
    graph.mark_output(build({})({x, rois, pictures})[0]);
    const std::vector<Tensor> inputs{Tensor::zeros(DType::kF32, {2, 1, 4, 4}), Tensor::zeros(DType::kF32, {1, 4}),
                                     Tensor::from<int64_t>({1}, {picture})};
    EXPECT_THAT(error_text([&] { run_graph(graph, inputs); }), HasSubstr("region 0 lies in picture"));
  }
}

}  // namespace
}  // namespace thalweg::testing
