// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/vision/coco.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/error_text.h"
#include "vision/coco_file.h"

namespace thalweg::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using vision::Detection;
using vision::OverlapKind;

constexpr double kTolerance = 1e-9;

vision::Box box_of(const json& numbers) { return {numbers[0], numbers[1], numbers[2], numbers[3]}; }

vision::Segmentation segmentation_of(const json& given) {
  if (given.is_array()) return given.get<std::vector<vision::Polygon>>();
  return vision::Rle::from_counts(given["size"][0], given["size"][1], given["counts"].get<std::vector<int64_t>>());
}

vision::Annotations annotations_of(const json& instances) {
  vision::Annotations result;
  for (const json& one : instances["images"]) result.pictures.push_back({one["id"], one["height"], one["width"]});
  for (const json& one : instances["categories"]) result.categories.push_back({one["id"], one["name"]});
  for (const json& one : instances["annotations"]) {
    result.objects.push_back({one["id"], one["image_id"], one["category_id"], box_of(one["bbox"]), one["area"],
                              one["iscrowd"] != 0, segmentation_of(one["segmentation"])});
  }
  return result;
}

std::vector<Detection> detections_of(const json& results) {
  std::vector<Detection> found;
  for (const json& one : results) {
    const vision::Box box = box_of(one["bbox"]);
    found.push_back({one["image_id"], one["category_id"], one["score"], box, vision::area(box),
                     segmentation_of(one["segmentation"])});
  }
  return found;
}

/// The same with areas and boxes of the masks, as of results that have masks only.
std::vector<Detection> as_runs(std::vector<Detection> detections, const vision::Annotations& annotations) {
  for (Detection& one : detections) {
    const auto picture = std::find_if(annotations.pictures.begin(), annotations.pictures.end(),
                                      [&](const auto& candidate) { return candidate.id == one.picture; });
    const auto mask = vision::Rle::from_polygons(picture->height, picture->width,
                                                 std::get<std::vector<vision::Polygon>>(one.segmentation));
    one.area = static_cast<double>(mask.area());
    one.box = mask.bounding_box();
    one.segmentation = mask;
  }
  return detections;
}

class GoldenSet : public ::testing::TestWithParam<const char*> {
 protected:
  void expect(const std::string& kind, const std::vector<Detection>& found, const vision::CocoOptions& options) const {
    const vision::CocoScores scores = evaluate_coco(annotations_, found, options);
    const std::vector<double> expected = file_["expected"][kind];
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(scores.values[i], expected[i], kTolerance) << kind << ' ' << vision::coco_score_names()[i];
    }
  }

  json file_ = golden_coco(GetParam());
  vision::Annotations annotations_ = annotations_of(file_["instances"]);
  std::vector<Detection> found_ = detections_of(file_["results"]);
};

TEST_P(GoldenSet, NumbersAreThoseOfPycocotools) {
  expect("box", found_, {.kind = OverlapKind::kBox});
  expect("mask", found_, {.kind = OverlapKind::kMask});
  expect("mask_of_runs", as_runs(found_, annotations_), {.kind = OverlapKind::kMask});
}

TEST_P(GoldenSet, BoundaryNumbersAreThoseOfErodedMasks) {
  expect("boundary", found_, {.kind = OverlapKind::kBoundary, .dilation_ratio = 0.02});
  expect("boundary_0.005", found_, {.kind = OverlapKind::kBoundary, .dilation_ratio = 0.005});
}

TEST_P(GoldenSet, ThreadsMakeNoDifference) {
  const auto one = evaluate_coco(annotations_, found_, {.kind = OverlapKind::kMask, .threads = 1});
  const auto four = evaluate_coco(annotations_, found_, {.kind = OverlapKind::kMask, .threads = 4});
  EXPECT_EQ(one.values, four.values);
}

INSTANTIATE_TEST_SUITE_P(Coco, GoldenSet, ::testing::Values("small", "ties", "one_class", "sparse"));

/// One picture of 100 x 100 pixels with these objects of category 1; category 2 has none.
vision::Annotations one_picture(std::vector<vision::Object> objects) {
  for (vision::Object& one : objects) {
    one.picture = 5;
    one.category = one.category == 0 ? 1 : one.category;
    if (one.area == 0) one.area = vision::area(one.box);
  }
  return {{{5, 100, 100, ""}}, {{1, "kind"}, {2, "other"}}, std::move(objects)};
}

Detection found_at(const vision::Box& box, double score) { return {5, 1, score, box, vision::area(box), {}}; }

TEST(Coco, WithoutObjectsAllIsUnknown) {
  for (const double value : evaluate_coco(one_picture({}), {found_at({0, 0, 9, 9}, 1)}).values) EXPECT_EQ(value, -1);
  for (const double value : vision::evaluate_coco({}, {}).values) EXPECT_EQ(value, -1);
}

TEST(Coco, WithoutDetectionsAllIsZero) {
  const auto scores = evaluate_coco(one_picture({{.box = {0, 0, 10, 10}}}), {});
  EXPECT_EQ(scores.values[0], 0);
  EXPECT_EQ(scores.values[3], 0);   // it is small
  EXPECT_EQ(scores.values[5], -1);  // no large object
  ASSERT_EQ(scores.categories.size(), 2U);
  EXPECT_EQ(scores.categories[0].ap, 0);
  EXPECT_EQ(scores.categories[1].ap, -1);
}

TEST(Coco, CrowdsAreNeitherFoundNorMissed) {
  const auto truth = one_picture({{.box = {0, 0, 50, 50}, .crowd = true}, {.box = {60, 60, 20, 20}}});
  const std::vector<Detection> found = {found_at({0, 0, 10, 10}, 0.9), found_at({20, 20, 10, 10}, 0.8),
                                        found_at({60, 60, 20, 20}, 0.7)};
  const auto scores = evaluate_coco(truth, found);
  EXPECT_DOUBLE_EQ(scores.values[0], 1.0);
  EXPECT_DOUBLE_EQ(scores.values[6], 0.0);  // the first detection alone finds nothing
  EXPECT_DOUBLE_EQ(scores.values[8], 1.0);
}

TEST(Coco, WithoutAMaskABoxStandsForADetection) {
  auto truth =
      one_picture({{.box = {10, 10, 20, 20}, .segmentation = vision::Rle::from_box(100, 100, {10, 10, 20, 20})}});
  const auto scores = evaluate_coco(truth, {found_at({10, 10, 20, 20}, 1)}, {.kind = OverlapKind::kMask});
  EXPECT_DOUBLE_EQ(scores.values[0], 1.0);
}

TEST(Coco, WhatDoesNotFitIsNamed) {
  const auto truth = one_picture({{.id = 77, .box = {10, 10, 20, 20}}});
  const auto error = [&](Detection detection, OverlapKind kind) {
    return error_text([&] { evaluate_coco(truth, {detection}, {.kind = kind}); });
  };
  EXPECT_THAT(error(found_at({0, 0, 1, 1}, NAN), OverlapKind::kBox), HasSubstr("detection 0 has the score nan"));
  Detection elsewhere = found_at({0, 0, 1, 1}, 1);
  elsewhere.picture = 6;
  EXPECT_THAT(error(elsewhere, OverlapKind::kBox), HasSubstr("detection 0 is of picture 6"));
  Detection other_size = found_at({0, 0, 1, 1}, 1);
  other_size.segmentation = vision::Rle(90, 100);
  const auto with_mask = one_picture({{.box = {1, 1, 2, 2}, .segmentation = vision::Rle(100, 100)}});
  EXPECT_THAT(error_text([&] { evaluate_coco(with_mask, {other_size}, {.kind = OverlapKind::kMask}); }),
              HasSubstr("category 1 in picture 5: its mask is 90 x 100 pixels, the picture 100 x 100"));
}

TEST(Coco, WhatCannotBeComparedIsCounted) {
  const auto truth = one_picture({{.id = 77, .box = {10, 10, 20, 20}}});
  const auto scores = evaluate_coco(truth, {found_at({10, 10, 20, 20}, 1)}, {.kind = OverlapKind::kMask});
  EXPECT_EQ(scores.without_mask, 1);
  EXPECT_EQ(scores.values[0], -1);
  Detection unknown = found_at({10, 10, 20, 20}, 1);
  unknown.category = 9;
  EXPECT_EQ(evaluate_coco(truth, {unknown}).unknown_category, 1);
}

}  // namespace
}  // namespace thalweg::testing
