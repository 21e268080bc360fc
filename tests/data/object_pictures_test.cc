// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/object_pictures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "support/error_text.h"
#include "support/temporary_directory.h"
#include "thalweg/data/augmentations.h"
#include "thalweg/data/loader.h"
#include "thalweg/data/remote_files.h"

namespace thalweg::testing {
namespace {

using data::ObjectPictures;
using data::ObjectPicturesOptions;
using data::Pipeline;
using ::testing::HasSubstr;

constexpr int64_t kHeight = 24;
constexpr int64_t kWidth = 32;

/// A BMP of grey pixels, of which those in the box are white.
void write_picture(const std::string& path, const vision::Box& white) {
  const auto little = [](uint32_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text.push_back(static_cast<char>((value >> (8 * i)) & 0xFFU));
    return text;
  };
  std::string file = "BM" + little(54 + kHeight * kWidth * 3, 4) + little(0, 4) + little(54, 4) + little(40, 4) +
                     little(kWidth, 4) + little(kHeight, 4) + little(1, 2) + little(24, 2) + std::string(24, '\0');
  for (int64_t y = kHeight - 1; y >= 0; --y) {
    for (int64_t x = 0; x < kWidth; ++x) {
      const auto px = static_cast<double>(x);
      const auto py = static_cast<double>(y);
      const bool inside = px >= white.x && px < white.x + white.width && py >= white.y && py < white.y + white.height;
      file += std::string(3, inside ? '\xFF' : '\x40');
    }
  }
  write_bytes(path, file);
}

/// Picture i has one white box, which is its object; its category is 10 + i % 2.
class ObjectPicturesTest : public ::testing::Test {
 protected:
  ObjectPicturesTest() {
    annotations_.categories = {{11, "odd"}, {10, "even"}};
    for (int64_t i = 0; i < 6; ++i) {
      const auto at = static_cast<double>(i);
      const std::string file = std::to_string(i) + ".bmp";
      const vision::Box box{2 + 3 * at, 4 + at, 8, 10};
      write_picture(directory_ / file, box);
      annotations_.pictures.push_back({i + 1, kHeight, kWidth, file});
      annotations_.objects.push_back(
          {i + 1, i + 1, 10 + i % 2, box, vision::area(box), i == 5, vision::Rle::from_box(kHeight, kWidth, box)});
    }
  }
  ObjectPictures open(const ObjectPicturesOptions& options) const {
    return {annotations_, directory_.path().string(), options};
  }

  const TemporaryDirectory directory_;
  vision::Annotations annotations_;
};

/// To pixels as they are.
Pipeline pixels(std::vector<data::Transform> transforms) {
  return {std::move(transforms), {.layout = data::ImageLayout::kNhwc, .dtype = DType::kU8}};
}

Pipeline plain() { return pixels({data::Resize{.height = kHeight, .width = kWidth}}); }

TEST_F(ObjectPicturesTest, RowsOfObjectsAreFilledFromTheFront) {
  vision::Object second = annotations_.objects[0];
  second.category = 11;
  second.box = {0, 0, 4, 6};
  annotations_.objects.push_back(second);
  const ObjectPictures dataset = open({.pipeline = plain(), .max_objects = 3, .masks = {kHeight, kWidth}});
  EXPECT_EQ(dataset.size(), 6);
  EXPECT_EQ(dataset.classes(), (std::vector<std::string>{"even", "odd"}));
  const data::Batch batch = dataset.fetch(std::vector<int64_t>{0, 5});
  ASSERT_EQ(batch.targets.size(), 4U);
  EXPECT_EQ(batch.targets[0].shape(), Shape({2, 3, 4}));
  const auto* boxes = batch.targets[0].data<float>();
  EXPECT_FLOAT_EQ(boxes[0], 2.0F / kWidth);
  EXPECT_FLOAT_EQ(boxes[1], 4.0F / kHeight);
  EXPECT_FLOAT_EQ(boxes[2], 10.0F / kWidth);
  EXPECT_FLOAT_EQ(boxes[3], 14.0F / kHeight);
  const auto* labels = batch.targets[1].data<int64_t>();
  EXPECT_EQ((std::vector<int64_t>(labels, labels + 6)), (std::vector<int64_t>{0, 1, -1, 1, -1, -1}));
  const auto* crowds = batch.targets[2].data<uint8_t>();
  EXPECT_EQ((std::vector<uint8_t>(crowds, crowds + 6)), (std::vector<uint8_t>{0, 0, 0, 1, 0, 0}));
  const Tensor masks = batch.targets[3].reshaped({6, kHeight, kWidth});
  const auto mask = [&](int64_t row) {
    return vision::Rle::from_mask(masks.rows(row, row + 1).reshaped({kHeight, kWidth}));
  };
  EXPECT_EQ(mask(0), std::get<vision::Rle>(annotations_.objects[0].segmentation));
  EXPECT_EQ(mask(3), std::get<vision::Rle>(annotations_.objects[5].segmentation));
  EXPECT_EQ(mask(2).area(), 0);
}

TEST_F(ObjectPicturesTest, BoxesAndMasksMoveWithThePixels) {
  const int64_t side = 96;
  const ObjectPictures dataset = open({.pipeline = pixels(data::ssd_augmentation(side, side)), .masks = {side, side}});
  int64_t seen = 0;
  for (int64_t i = 0; i < 60; ++i) {
    const data::Batch batch = dataset.fetch(std::vector<int64_t>{i % 6}, {.seed = 3, .epoch = i});
    if (batch.targets[1].data<int64_t>()[0] < 0) continue;
    ++seen;
    const Tensor mask = batch.targets[3].reshaped({100, side, side}).rows(0, 1).reshaped({side, side});
    const vision::Box of_mask = vision::Rle::from_mask(mask).bounding_box();
    const auto* box = batch.targets[0].data<float>();
    const std::vector<double> expected = {of_mask.x, of_mask.y, of_mask.x + of_mask.width, of_mask.y + of_mask.height};
    // Crops go by the box, so half a pixel of the source may lie between.
    for (size_t k = 0; k < 4; ++k) EXPECT_NEAR(box[k] * side, expected[k], 6) << i << ' ' << k;
  }
  EXPECT_GT(seen, 40);
}

TEST(Augmentations, EndInOneSizeAndGoThroughJson) {
  for (const auto& transforms : {data::ssd_augmentation(30, 40), data::yolact_augmentation(30, 40)}) {
    const Pipeline pipeline(transforms);
    EXPECT_EQ(pipeline.output_type(3).shape, Shape({3, 30, 40}));
    EXPECT_EQ(Pipeline::from_json(pipeline.to_json()).to_json(), pipeline.to_json());
    EXPECT_EQ(pipeline.for_prediction().transforms().size(), 1U);
  }
}

TEST(Augmentations, AnyPartAroundAnObjectMayDo) {
  std::set<int64_t> widths;
  for (int64_t i = 0; i < 60; ++i) {
    data::ImageSample sample(Tensor::zeros(DType::kU8, {60, 80, 3}));
    sample.boxes = {{38, 28, 42, 32}};
    Pipeline({data::RandomBoxCrop{.min_overlap = {-1}}}).transform(sample, {}, i);
    ASSERT_EQ(sample.boxes.size(), 1U) << "its centre is in the part";
    widths.insert(sample.size().width);
  }
  EXPECT_GT(widths.size(), 10U);
}

TEST_F(ObjectPicturesTest, MosaicsJoinFourPictures) {
  ObjectPicturesOptions options{.pipeline = plain(), .masks = {kHeight, kWidth}, .mosaic_probability = 1};
  options.mosaic_size = {kHeight, kWidth};
  const ObjectPictures dataset = open(options);
  int64_t objects = 0;
  for (int64_t i = 0; i < 40; ++i) {
    const data::Batch batch = dataset.fetch(std::vector<int64_t>{i % 6}, {.seed = 1, .epoch = i});
    const Tensor masks = batch.targets[3].reshaped({100, kHeight, kWidth});
    for (int64_t k = 0; batch.targets[1].data<int64_t>()[k] >= 0; ++k, ++objects) {
      const vision::Rle mask = vision::Rle::from_mask(masks.rows(k, k + 1).reshaped({kHeight, kWidth}));
      const float* box = batch.targets[0].data<float>() + 4 * k;
      const double across = static_cast<double>(box[2] - box[0]) * kWidth;
      const double down = static_cast<double>(box[3] - box[1]) * kHeight;
      EXPECT_NEAR(mask.bounding_box().width, across, 2);
      EXPECT_NEAR(mask.bounding_box().height, down, 2);
      // What is inside of the mask is white in the picture, but for pixels at its outline.
      const vision::Box inner = mask.bounding_box();
      const auto middle_x = static_cast<int64_t>(inner.x + inner.width / 2);
      const auto middle_y = static_cast<int64_t>(inner.y + inner.height / 2);
      if (mask.area() > 9) {
        EXPECT_GT(batch.inputs[0].data<uint8_t>()[(middle_y * kWidth + middle_x) * 3], 120);
      }
    }
  }
  EXPECT_GT(objects, 40) << "most mosaics have more than one";
  const auto again = [&] { return dataset.fetch(std::vector<int64_t>{2}, {.seed = 9, .epoch = 4}); };
  EXPECT_EQ(std::memcmp(again().inputs[0].raw(), again().inputs[0].raw(), again().inputs[0].num_bytes()), 0);
}

TEST_F(ObjectPicturesTest, OfTooManyTheLargestStay) {
  for (int64_t i = 1; i <= 4; ++i) {
    vision::Object more = annotations_.objects[0];
    more.box = {0, 0, 3.0 * static_cast<double>(i), 6};
    annotations_.objects.push_back(more);
  }
  const ObjectPictures dataset = open({.pipeline = plain(), .max_objects = 2});
  const data::Batch batch = dataset.fetch(std::vector<int64_t>{0});
  const auto* boxes = batch.targets[0].data<float>();
  EXPECT_FLOAT_EQ(boxes[2], 10.0F / kWidth);      // 8 x 10
  EXPECT_FLOAT_EQ(boxes[4 + 2], 12.0F / kWidth);  // 12 x 6
  const ObjectPictures large = open({.pipeline = plain(), .min_side = 0.3});
  const Tensor labels = large.fetch(std::vector<int64_t>{0}).targets[1];
  EXPECT_EQ(labels.data<int64_t>()[0], -1) << "none is wide and high enough";
}

TEST_F(ObjectPicturesTest, WhatCannotBeUsedIsLeftOutAndCounted) {
  annotations_.pictures.push_back({90, 5, 5, "missing.bmp"});
  annotations_.pictures.push_back({91, 5, 5, "../0.bmp"});
  vision::Object bad = annotations_.objects[0];
  bad.box = {kWidth + 1, 0, 5, 5};
  annotations_.objects.push_back(bad);
  bad = annotations_.objects[0];
  bad.segmentation = {};
  annotations_.objects.push_back(bad);
  bad.category = 4;
  annotations_.objects.push_back(bad);
  const ObjectPictures dataset = open({.pipeline = plain(), .masks = {8, 8}});
  EXPECT_EQ(dataset.size(), 6);
  const auto& kinds = dataset.problems().kinds;
  EXPECT_EQ(kinds.at("picture missing"), 2);
  EXPECT_EQ(kinds.at("box empty or outside"), 1);
  EXPECT_EQ(kinds.at("mask that cannot be used"), 1);
  EXPECT_EQ(kinds.at("unknown category"), 1);
  const Tensor labels = dataset.fetch(std::vector<int64_t>{0}).targets[1];
  EXPECT_EQ(labels.data<int64_t>()[1], -1);
}

TEST_F(ObjectPicturesTest, ASampleThatCannotBeReadIsNamedOrSkipped) {
  write_bytes(directory_ / "1.bmp", "no picture");
  annotations_.pictures[2].height = kHeight + 1;
  const ObjectPictures dataset = open({.pipeline = plain()});
  EXPECT_THAT(error_text([&] { dataset.fetch(std::vector<int64_t>{1}); }), HasSubstr("/1.bmp"));
  EXPECT_THAT(error_text([&] { dataset.fetch(std::vector<int64_t>{2}); }),
              HasSubstr("/2.bmp: has 32 x 24 pixels, and the annotations say 32 x 25"));
  data::LoaderOptions skipping;
  skipping.bad = data::BadSample::kSkip;
  skipping.max_batches = 2;
  data::Loader loader(dataset, data::BatchSampler(dataset.size(), {.batch_size = 3}), skipping);
  data::LoadedBatch loaded;
  int64_t rows = 0;
  while (loader.next(loaded)) rows += loaded.batch.size();
  EXPECT_EQ(rows, 4);
  EXPECT_EQ(loader.skipped().count, 2);
}

TEST_F(ObjectPicturesTest, PicturesElsewhereAreReadToo) {
  const ObjectPictures here = open({.pipeline = plain()});
  const ObjectPictures there(annotations_, data::remote_files("file://" + directory_.path().string()),
                             {.pipeline = plain()});
  EXPECT_EQ(there.size(), here.size());
  const std::vector<int64_t> all = {0, 1, 2, 3, 4, 5};
  const data::Batch a = here.fetch(all);
  const data::Batch b = there.fetch(all);
  EXPECT_EQ(std::memcmp(a.inputs[0].raw(), b.inputs[0].raw(), a.inputs[0].num_bytes()), 0);
  EXPECT_EQ(std::memcmp(a.targets[0].raw(), b.targets[0].raw(), a.targets[0].num_bytes()), 0);
}

TEST_F(ObjectPicturesTest, OptionsThatMakeNoSenseAreRefused) {
  const auto refused = [&](const ObjectPicturesOptions& options) { return error_text([&] { open(options); }); };
  EXPECT_THAT(refused({.pipeline = plain(), .max_objects = 0}), HasSubstr("max_objects is 0"));
  EXPECT_THAT(refused({.pipeline = plain(), .min_side = 1}), HasSubstr("min_side"));
  EXPECT_THAT(refused({.pipeline = plain(), .mosaic_probability = 2}), HasSubstr("mosaic_probability"));
  EXPECT_THAT(refused({}), HasSubstr("sizes of their own"));
  annotations_.pictures.clear();
  EXPECT_THAT(refused({.pipeline = plain()}), HasSubstr("holds none of the 0 pictures"));
}

}  // namespace
}  // namespace thalweg::testing
