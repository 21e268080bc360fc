// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/vision/voc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/error_text.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;
using vision::Box;
using vision::Detection;
using vision::VocArea;

constexpr Box kHere{0, 0, 10, 10};
constexpr Box kThere{50, 50, 10, 10};
constexpr Box kNowhere{80, 0, 10, 10};

vision::Annotations truth(std::vector<vision::Object> objects) {
  return {{{1}, {2}}, {{1, "a"}, {2, "b"}}, std::move(objects)};
}

double ap(const vision::Annotations& annotations, const std::vector<Detection>& found, VocArea area) {
  return evaluate_voc(annotations, found, {.area = area}).categories[0].ap;
}

TEST(Voc, PrecisionOverRecallByHand) {
  const auto annotations = truth({{1, 1, 1, kHere}, {2, 1, 1, kThere}, {3, 2, 1, kHere}, {4, 2, 1, kThere}});
  // Right, wrong, right, right, wrong: recall 1/4, 1/4, 2/4, 3/4, 3/4; precision 1, 1/2, 2/3, 3/4, 3/5.
  const std::vector<Detection> found = {
      {1, 1, 0.9, kHere}, {1, 1, 0.8, kNowhere}, {2, 1, 0.7, kThere}, {2, 1, 0.6, kHere}, {2, 1, 0.5, kNowhere}};
  EXPECT_DOUBLE_EQ(ap(annotations, found, VocArea::kWhole), 0.25 * 1 + 0.5 * 0.75);
  // Recalls 0, 0.1, 0.2 have precision 1; 0.3 to 0.7 have 3/4; the others are not reached.
  EXPECT_DOUBLE_EQ(ap(annotations, found, VocArea::kElevenPoints), (3 * 1 + 5 * 0.75) / 11);
}

TEST(Voc, AnObjectIsFoundOnce) {
  const auto annotations = truth({{1, 1, 1, kHere}, {2, 2, 1, kHere}});
  const std::vector<Detection> found = {{1, 1, 0.9, kHere}, {1, 1, 0.8, kHere}, {2, 1, 0.7, kHere}};
  EXPECT_DOUBLE_EQ(ap(annotations, found, VocArea::kWhole), 0.5 * 1 + 0.5 * 2 / 3);
}

TEST(Voc, ADetectionIsAboutWhatItOverlapsMost) {
  // Both overlap the second object more; the first object, which they overlap by more than half too, stays missed.
  const auto annotations = truth({{1, 1, 1, {0, 0, 10, 10}}, {2, 1, 1, {2, 0, 10, 10}}});
  const std::vector<Detection> found = {{1, 1, 0.9, {2, 0, 10, 10}}, {1, 1, 0.8, {1.5, 0, 10, 10}}};
  EXPECT_DOUBLE_EQ(ap(annotations, found, VocArea::kWhole), 0.5);
}

TEST(Voc, DifficultObjectsDoNotCount) {
  const auto annotations = truth({{1, 1, 1, kHere, 100, true}, {2, 1, 1, kThere}});
  const std::vector<Detection> found = {{1, 1, 0.9, kHere}, {1, 1, 0.8, kHere}, {1, 1, 0.7, kThere}};
  EXPECT_DOUBLE_EQ(ap(annotations, found, VocArea::kWhole), 1.0);
}

TEST(Voc, TheMeanIsOverCategoriesThatHaveObjects) {
  const auto scores = evaluate_voc(truth({{1, 1, 1, kHere}}), {{1, 1, 0.9, kHere}, {1, 2, 0.9, kHere}});
  EXPECT_EQ(scores.mean, 1.0);
  EXPECT_EQ(scores.categories[1].ap, -1);
  EXPECT_EQ(evaluate_voc(truth({}), {}).mean, -1);
  EXPECT_THAT(error_text([] { evaluate_voc(truth({}), {}, {.min_iou = 0}); }), HasSubstr("(0, 1]"));
}

}  // namespace
}  // namespace thalweg::testing
