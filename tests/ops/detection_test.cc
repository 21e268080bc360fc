// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/detection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/error_text.h"
#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;

BuildOp detect(const ops::DetectionOptions& options) {
  return [options](const std::vector<Value*>& v) -> std::vector<Value*> {
    return {ops::detection_output(v[0], v[1], v[2], options)};
  };
}

/// `priors` boxes of about a third of the picture, so that many overlap.
std::vector<Operand> operands(int64_t pictures, int64_t priors, const ops::DetectionOptions& options) {
  const int64_t boxes = options.shared_boxes ? 1 : options.classes;
  return {{{pictures, priors * 4 * boxes}, -1.0, 1.0, DType::kF64, false},
          {{pictures, priors * options.classes}, 0.0, 1.0, DType::kF64, false},
          {{1, 2, priors * 4}, 0.2, 0.6, DType::kF64, false}};
}

ops::DetectionOptions options_of(int64_t classes) {
  ops::DetectionOptions options;
  options.classes = classes;
  options.score_threshold = 0.3;
  return options;
}

TEST(DetectionOutput, FastPathMatchesReference) {
  for (const char* code : {"center_size", "corner", "corner_size"}) {
    for (const bool shared : {true, false}) {
      ops::DetectionOptions options = options_of(4);
      options.code = code;
      options.shared_boxes = shared;
      options.candidates = 9;
      options.keep = 11;
      check_fast_path(operands(3, 25, options), detect(options), "native detection_output", 2e-5, false);
      options.variance_in_target = true;
      options.background = -1;
      options.keep = options.candidates = -1;
      options.eta = 0.9;
      options.overlap_threshold = 0.8;
      check_fast_path(operands(1, 7, options), detect(options), "native detection_output", 2e-5, false);
    }
  }
  check_fast_path(operands(0, 5, options_of(3)), detect(options_of(3)), "", 2e-5, false);
  check_fast_path(operands(1, 1, options_of(2)), detect(options_of(2)), "native detection_output", 2e-5, false);
}

/// Three boxes: the second overlaps the first, the third lies apart.
TEST(DetectionOutput, DropsWhatOverlapsABetterBox) {
  Graph graph;
  Value* places = graph.input("places", {DType::kF32, {1, 12}});
  Value* scores = graph.input("scores", {DType::kF32, {1, 6}});
  Value* priors = graph.input("priors", {DType::kF32, {1, 2, 12}});
  ops::DetectionOptions options;
  options.classes = 2;
  options.code = "corner";
  options.score_threshold = 0.25;
  options.overlap_threshold = 0.5;
  graph.mark_output(ops::detection_output(places, scores, priors, options));
  const std::vector<float> boxes{0.1F, 0.1F, 0.5F, 0.5F, 0.12F, 0.1F, 0.5F, 0.5F, 0.6F, 0.6F, 0.9F, 0.9F};
  std::vector<float> with_variances = boxes;
  with_variances.resize(24, 0.1F);
  const auto run = [&](std::vector<float> given) {
    return run_graph(graph, {Tensor::zeros(DType::kF32, {1, 12}), Tensor::from<float>({1, 6}, given),
                             Tensor::from<float>({1, 2, 12}, with_variances)})[0];
  };
  const Tensor found = run({0.4F, 0.6F, 0.3F, 0.7F, 0.5F, 0.5F});
  ASSERT_EQ(found.shape(), (Shape{1, 3, 7}));
  const std::vector<float> expected{0,    1,    0.7F, 0.12F, 0.1F, 0.5F, 0.5F, 0,  1,  0.5F, 0.6F,
                                    0.6F, 0.9F, 0.9F, -1,    -1,   -1,   -1,   -1, -1, -1};
  expect_close(found, Tensor::from<float>({1, 3, 7}, expected), 1e-6, "detections");
  const Tensor nothing = run({1, 0, 1, 0, 1, 0.25F});
  expect_close(nothing, Tensor::full<float>({1, 3, 7}, -1.0F), 0, "nothing is found");
}

TEST(DetectionOutput, SaysWhichInputDoesNotFit) {
  Graph graph;
  Value* places = graph.input("places", {DType::kF32, {1, 12}});
  Value* scores = graph.input("scores", {DType::kF32, {1, 7}});
  Value* priors = graph.input("priors", {DType::kF32, {1, 2, 12}});
  EXPECT_THAT(error_text([&] { ops::detection_output(places, scores, priors, options_of(2)); }),
              HasSubstr("scores have 7 numbers a picture, and the priors ask for 6"));
}

ops::PriorBoxOptions prior_options() {
  ops::PriorBoxOptions options;
  options.min_sizes = {4};
  options.max_sizes = {9};
  options.aspect_ratios = {2};
  options.variances = {0.1, 0.1, 0.2, 0.2};
  return options;
}

TEST(PriorBox, FollowsFromExtentsAlone) {
  Graph graph;
  Value* features = graph.input("features", {DType::kF32, {kFree, 8, 1, 2}});
  Value* image = graph.input("image", {DType::kF32, {kFree, 3, 10, 20}});
  Value* boxes = ops::prior_box(features, image, prior_options());
  EXPECT_EQ(boxes->shape(), (Shape{1, 2, 32})) << "a square of 4, one of 6, and two of ratio 2";
  graph.mark_output(boxes);
  const Tensor result = run_graph(
      *graph.clone(), {Tensor::zeros(DType::kF32, {1, 8, 1, 2}), Tensor::zeros(DType::kF32, {1, 3, 10, 20})})[0];
  const float* out = result.data<float>();
  // The middle of the first place is (5, 5): as shares (0.25, 0.5).
  const float wide = 4.0F * std::sqrt(2.0F), flat = 4.0F / std::sqrt(2.0F);
  const std::vector<float> first{0.15F,
                                 0.3F,
                                 0.35F,
                                 0.7F,
                                 0.1F,
                                 0.2F,
                                 0.4F,
                                 0.8F,
                                 0.25F - wide / 40,
                                 0.5F - flat / 20,
                                 0.25F + wide / 40,
                                 0.5F + flat / 20};
  for (size_t i = 0; i < first.size(); ++i) EXPECT_NEAR(out[i], first[i], 1e-6F) << i;
  EXPECT_NEAR(out[16], 0.65F, 1e-6F) << "half a picture further";
  EXPECT_EQ(out[32], 0.1F);
  EXPECT_EQ(out[35], 0.2F);
}

TEST(PriorBox, CutsToThePicture) {
  Graph graph;
  Value* features = graph.input("features", {DType::kF32, {1, 1, 3, 3}});
  ops::PriorBoxOptions options;
  options.min_sizes = {5};
  options.clip = true;
  graph.mark_output(ops::prior_box(features, graph.input("image", {DType::kF32, {1, 1, 6, 6}}), options));
  const Tensor result =
      run_graph(graph, {Tensor::zeros(DType::kF32, {1, 1, 3, 3}), Tensor::zeros(DType::kF32, {1, 1, 6, 6})})[0];
  for (int64_t i = 0; i < 36; ++i) {
    EXPECT_GE(result.data<float>()[i], 0.0F);
    EXPECT_LE(result.data<float>()[i], 1.0F);
  }
}

/// Boxes whose right and bottom lie beyond their left and top.
Value* proper(Value* x) {
  const std::vector<Value*> halves = ops::split(x, {2, 2}, -1);
  return ops::concat({halves[0], ops::add(halves[0], ops::add(ops::square(halves[1]), 0.3))}, -1);
}

TEST(BoxCodes, AreTurnedBack) {
  const std::vector<double> variances{0.1, 0.1, 0.2, 0.2};
  check_gradients({{{3, 4}}, {{3, 4}}}, [&](const std::vector<Value*>& v) -> std::vector<Value*> {
    return {ops::encode_boxes(proper(v[0]), proper(v[1]), variances), ops::decode_boxes(v[0], proper(v[1]), variances)};
  });
  Graph graph;
  Value* boxes = proper(graph.input("boxes", {DType::kF32, {2, 5, 4}}));
  Value* priors = proper(graph.input("priors", {DType::kF32, {5, 4}}));
  graph.mark_output(boxes);
  graph.mark_output(ops::decode_boxes(ops::encode_boxes(boxes, priors, variances), priors, variances));
  const auto out = run_graph(graph, {random_tensor(DType::kF32, {2, 5, 4}, 1), random_tensor(DType::kF32, {5, 4}, 2)});
  expect_close(out[1], out[0], 1e-5, "boxes");
}

TEST(IouMatrix, IsIntersectionOverUnion) {
  Graph graph;
  Value* a = graph.input("a", {DType::kF32, {2, 4}});
  Value* b = graph.input("b", {DType::kF32, {3, 4}});
  graph.mark_output(ops::iou_matrix(a, b));
  const Tensor result = run_graph(graph, {Tensor::from<float>({2, 4}, {0, 0, 2, 2, 5, 5, 5, 5}),
                                          Tensor::from<float>({3, 4}, {1, 1, 3, 3, 0, 0, 2, 2, 7, 7, 8, 9})})[0];
  expect_close(result, Tensor::from<float>({2, 3}, {1.0F / 7, 1, 0, 0, 0, 0}), 1e-6, "overlaps");
  check_gradients({{{2, 4}}, {{3, 4}}}, [](const std::vector<Value*>& v) -> std::vector<Value*> {
    return {ops::iou_matrix(proper(v[0]), proper(v[1]))};
  });
}

}  // namespace
}  // namespace thalweg::testing
