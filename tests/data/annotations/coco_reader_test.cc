// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/error_text.h"
#include "support/source_dir.h"
#include "support/temporary_directory.h"
#include "thalweg/data/annotations.h"
#include "thalweg/data/remote_files.h"

namespace thalweg::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using vision::Rle;

/// An instances file of one picture of 20 x 10 pixels and one category, with this list of objects.
std::string instances(const std::string& objects) {
  return R"({"info": {"year": 2017, "more": [1, {"a": []}]}, "licenses": [{"id": 1}], "annotations": [)" + objects +
         R"(], "images": [{"id": 7, "height": 10, "width": 20, "file_name": "a/b.jpg"}],
         "categories": [{"id": 3, "name": "cat", "supercategory": "animal"}]})";
}

/// An object, with more members.
std::string object(const std::string& more = "", const std::string& box = "[1, 2, 5, 6]") {
  return R"({"id": 9, "image_id": 7, "category_id": 3, "bbox": )" + box + (more.empty() ? "" : ", " + more) + "}";
}

data::ReadAnnotations parsed(const std::string& objects) { return data::parse_coco(instances(objects), "x.json"); }
std::string failure(const std::string& json) {
  return error_text([&] { data::parse_coco(json, "x.json"); });
}

TEST(CocoReader, AllThatIsKnownOfAnObject) {
  const auto read = parsed(object(R"("area": 17.5, "iscrowd": 0, "segmentation": [[1, 2, 6, 2, 6, 8]])"));
  EXPECT_EQ(read.problems.count(), 0) << to_string(read.problems);
  ASSERT_EQ(read.annotations.pictures.size(), 1U);
  EXPECT_EQ(read.annotations.pictures[0].file, "a/b.jpg");
  EXPECT_EQ(read.annotations.pictures[0].height, 10);
  EXPECT_EQ(read.annotations.categories[0].name, "cat");
  ASSERT_EQ(read.annotations.objects.size(), 1U);
  const vision::Object& one = read.annotations.objects[0];
  EXPECT_EQ(one.id, 9);
  EXPECT_EQ(one.picture, 7);
  EXPECT_EQ(one.category, 3);
  EXPECT_EQ(one.box, (vision::Box{1, 2, 5, 6}));
  EXPECT_EQ(one.area, 17.5);
  EXPECT_FALSE(one.crowd);
  EXPECT_EQ(std::get<std::vector<vision::Polygon>>(one.segmentation)[0], (vision::Polygon{1, 2, 6, 2, 6, 8}));
}

TEST(CocoReader, MasksAsRunsAndAsText) {
  const std::string runs = R"("iscrowd": 1, "segmentation": {"size": [10, 20], "counts": [50, 25, 125]})";
  const std::string text = Rle::from_counts(10, 20, std::vector<int64_t>{50, 25, 125}).text();
  const std::string compressed = R"("segmentation": {"size": [10, 20], "counts": ")" + text + "\"}";
  const auto read = parsed(object(runs) + "," + object(compressed));
  ASSERT_EQ(read.annotations.objects.size(), 2U);
  EXPECT_TRUE(read.annotations.objects[0].crowd);
  for (const vision::Object& one : read.annotations.objects) {
    EXPECT_EQ(std::get<Rle>(one.segmentation).area(), 25);
    EXPECT_EQ(one.area, 25);  // where it is not said
  }
}

TEST(CocoReader, BadAnnotationsAreNamedAndCounted) {
  const auto read =
      parsed(R"({"image_id": 8, "category_id": 3, "bbox": [1, 1, 2, 2]},)"
             R"({"image_id": 7, "category_id": 4, "bbox": [1, 1, 2, 2]},)" +
             object("", "[25, 2, 5, 6]") + "," + object("", "[1, 2, 0, 6]") + "," + object(R"("segmentation": [])") +
             "," + object(R"("segmentation": [[1, 2, 3, 4], [1, 2, 6, 2, 6, 8]])") + "," +
             object(R"("segmentation": {"size": [9, 20], "counts": [180]})") + "," +
             object(R"("segmentation": {"size": [10, 20], "counts": [30]})"));
  EXPECT_THAT(read.problems.kinds,
              ElementsAre(Pair("box empty or outside", 2), Pair("mask that cannot be used", 3),
                          Pair("polygon without an area", 1), Pair("unknown category", 1), Pair("unknown picture", 1)));
  ASSERT_EQ(read.annotations.objects.size(), 6U);  // all but those of unknown pictures and categories
  const std::vector<size_t> forms = {0, 0, 0, 1, 0, 0};
  for (size_t i = 0; i < forms.size(); ++i) EXPECT_EQ(read.annotations.objects[i].segmentation.index(), forms[i]) << i;
  const std::string text = to_string(read.problems);
  EXPECT_THAT(text, HasSubstr("unknown picture: 1"));
  EXPECT_THAT(text, HasSubstr("annotations[0]: unknown picture: 8; left out"));
  EXPECT_THAT(text, HasSubstr("annotations[4]: mask that cannot be used: it has no polygon"));
  EXPECT_THAT(text, HasSubstr("the runs of a mask of 10 x 20 pixels have 30 pixels, not 200"));
}

TEST(CocoReader, StrictlyTheFirstProblemFails) {
  const std::string text = instances(object() + "," + object("", "[25, 2, 5, 6]"));
  EXPECT_THAT(
      error_text([&] { data::parse_coco(text, "x.json", {.strict = true}); }),
      HasSubstr("x.json: annotations[1]: box empty or outside: (25, 2) with extents (5, 6) in a picture of 20 x 10"));
}

TEST(CocoReader, WhatIsNoInstancesFileFailsWithThePlace) {
  EXPECT_THAT(failure("[1, 2"), HasSubstr("x.json: is not JSON at its byte"));
  EXPECT_THAT(failure(""), HasSubstr("x.json: is not JSON"));
  EXPECT_THAT(failure("3"), HasSubstr("no list or object"));
  EXPECT_THAT(failure("{}"), HasSubstr("has no list 'images'"));
  EXPECT_THAT(failure(instances(R"({"image_id": 7, "category_id": 3})")), HasSubstr("annotations[0]: has no bbox"));
  EXPECT_THAT(failure(instances(R"({"image_id": 7.5})")), HasSubstr("annotations[0]: image_id is no whole number"));
  EXPECT_THAT(failure(instances(object("", "[1, 2, 3]"))), HasSubstr("bbox is no list of 4 numbers"));
  EXPECT_THAT(failure(instances(object(R"("area": "large")"))), HasSubstr("area is no number"));
  EXPECT_THAT(failure(R"({"images": [{"id": 1, "height": -1}]})"), HasSubstr("images[0]: a picture of 0 x -1 pixels"));
  EXPECT_THAT(failure(instances(object("\"a\":" + std::string(40, '[') + std::string(40, ']')))), HasSubstr("deep"));
}

TEST(CocoReader, ResultsTakeAreasFromBoxesOrMasks) {
  const std::string mask = R"("segmentation": {"size": [10, 20], "counts": [50, 25, 125]})";
  const std::string head = R"({"image_id": 7, "category_id": 3.0, "score": 0.25, )";
  const auto boxes = data::parse_coco_results("[" + head + R"("bbox": [1, 2, 5, 6], )" + mask + "}]", "r.json");
  ASSERT_EQ(boxes.size(), 1U);
  EXPECT_EQ(boxes[0].area, 30);
  EXPECT_EQ(std::get<Rle>(boxes[0].segmentation).area(), 25);
  EXPECT_EQ(boxes[0].category, 3);
  const auto masks = data::parse_coco_results("[" + head + mask + "}]", "r.json");
  EXPECT_EQ(masks[0].area, 25);
  EXPECT_EQ(masks[0].box, (vision::Box{5, 0, 3, 10}));
  EXPECT_TRUE(data::parse_coco_results("[]", "r.json").empty());
  const auto bad = [](const std::string& json) {
    return error_text([&] { data::parse_coco_results(json, "r.json"); });
  };
  EXPECT_THAT(bad("[" + head + mask + "}, " + head + R"("score": 1}])"), HasSubstr("r.json: [1]: has no box"));
  EXPECT_THAT(bad(R"([{"image_id": 7, "category_id": 3}])"), HasSubstr("r.json: [0]: has no score"));
  EXPECT_THAT(bad("[" + head + R"("bbox": [1, 2, 5, 6], "segmentation": {"size": [1, 1], "counts": "!"}}])"),
              HasSubstr("r.json: [0]: segmentation: the text of a mask has a character of number 33"));
  EXPECT_THAT(bad(R"({"annotations": [{"score": 1}]})"), HasSubstr("is no list of detections"));
}

TEST(CocoReader, FilesOfThisMachineAndElsewhere) {
  const TemporaryDirectory directory;
  write_bytes(directory / "x.json", instances(object()));
  write_bytes(directory / "r.json", "[]");
  EXPECT_EQ(data::read_coco(directory / "x.json").annotations.objects.size(), 1U);
  const auto files = data::remote_files("file://" + directory.path().string());
  EXPECT_EQ(data::read_coco(*files, "x.json").annotations.objects.size(), 1U);
  EXPECT_EQ(data::read_coco_results(*files, "r.json").size(), 0U);
  EXPECT_THAT(error_text([&] { data::read_coco(directory / "none.json"); }), HasSubstr("none.json: cannot read"));
}

}  // namespace
}  // namespace thalweg::testing
