// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/error_text.h"
#include "support/golden_image.h"
#include "support/temporary_directory.h"
#include "thalweg/data/cache.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ModelMetadata, TravelsAsProperties) {
  data::ModelMetadata metadata;
  metadata.preprocessing = data::Pipeline({data::ResizeShorter{64}, data::CenterCrop{56, 48}});
  metadata.features = data::Features({data::StringIndex{"city", {"Bern", "Oslo"}}, data::OneHot{"city", 2}});
  metadata.columns = {{"city_0", "city_1"}, {"age"}};
  metadata.text = data::TextPreprocessing{
      data::Vocabulary({"fine", "É"}), {false, true}, {.length = 7, .truncate = data::Side::kBack}};
  metadata.class_names = {"cat", "a \"dog\""};
  auto properties = data::to_properties(metadata);
  properties["author"] = "somebody";
  const data::ModelMetadata read = data::metadata_from(properties);
  EXPECT_EQ(read.class_names, metadata.class_names);
  ASSERT_TRUE(read.preprocessing.has_value());
  EXPECT_EQ(read.preprocessing->to_json(), metadata.preprocessing->to_json());
  ASSERT_TRUE(read.features.has_value());
  EXPECT_EQ(read.features->to_json(), metadata.features->to_json());
  EXPECT_EQ(read.columns, metadata.columns);
  ASSERT_TRUE(read.text.has_value());
  EXPECT_EQ(read.text->to_json(), metadata.text->to_json());
  EXPECT_TRUE(data::to_properties({}).empty());
  EXPECT_FALSE(data::metadata_from({}).preprocessing.has_value());
}

TEST(ModelMetadata, NothingRandomIsWrittenOrRead) {
  const data::Pipeline random({data::RandomResizedCrop{56, 48}, data::HorizontalFlip{}});
  const auto properties = data::to_properties({.preprocessing = random});
  EXPECT_THAT(properties.at("thalweg.preprocessing"), HasSubstr("center_crop"));
  EXPECT_THAT(properties.at("thalweg.preprocessing"), Not(HasSubstr("random")));
  EXPECT_THAT(properties.at("thalweg.preprocessing"), Not(HasSubstr("flip")));
  const auto read = data::metadata_from({{"thalweg.preprocessing", random.to_json()}});
  EXPECT_EQ(read.preprocessing->to_json(), random.for_prediction().to_json());
}

TEST(ModelMetadata, ViewsOfSamplesSayWhatTheirSourcesSay) {
  const TemporaryDirectory folder;
  for (const char* name : {"a", "b"}) {
    std::filesystem::create_directory(folder.path() / name);
    std::filesystem::copy_file(image_path("photo.jpg"), folder.path() / name / "photo.jpg");
  }
  const auto open = [&](int64_t size) {
    return std::make_shared<data::ImageFolder>(
        folder.path().string(), data::ImageFolderOptions{.pipeline = data::Pipeline({data::Resize{size, size}})});
  };
  const auto small = open(8), also_small = open(8);
  const auto other = std::make_shared<data::ImageFolder>(
      folder.path().string(), data::ImageFolderOptions{.pipeline = data::Pipeline({data::CenterCrop{8, 8}})});
  const auto expected = data::to_properties(data::metadata_of(*small));
  EXPECT_THAT(expected.at("thalweg.class_names"), HasSubstr("b"));
  const auto part = std::make_shared<data::Subset>(small, std::vector<int64_t>{1});
  EXPECT_EQ(data::to_properties(data::metadata_of(*part)), expected);
  EXPECT_EQ(data::to_properties(data::metadata_of(data::Cached(part, {}))), expected);
  EXPECT_EQ(data::to_properties(data::metadata_of(data::Concat({part, also_small}))), expected);
  EXPECT_TRUE(data::to_properties(data::metadata_of(data::Concat({small, other}))).empty());
  const Tensor row(DType::kF32, {1, 2});
  EXPECT_TRUE(data::to_properties(data::metadata_of(data::TensorDataset({row}, {}))).empty());
}

TEST(ModelMetadata, ErrorsNameTheProperty) {
  for (const char* columns : {"{}", "[\"a\"]", "[[1]]", "["}) {
    EXPECT_THAT(error_text([&] { data::metadata_from({{"thalweg.columns", columns}}); }), HasSubstr("thalweg.columns"));
  }
  EXPECT_THAT(error_text([] { data::metadata_from({{"thalweg.text", "{}"}}); }), HasSubstr("thalweg.text"));
  EXPECT_THAT(error_text([] {
                data::metadata_from({{"thalweg.class_names", "cat, dog"}});
              }),
              HasSubstr("thalweg.class_names"));
  EXPECT_THAT(error_text([] {
                data::metadata_from({{"thalweg.class_names", "[1]"}});
              }),
              HasSubstr("thalweg.class_names"));
  EXPECT_THAT(error_text([] {
                data::metadata_from({{"thalweg.preprocessing", "{"}});
              }),
              HasSubstr("thalweg.preprocessing"));
  EXPECT_THAT(error_text([] { data::metadata_from({{"thalweg.features", "[{}]"}}); }), HasSubstr("thalweg.features"));
}

}  // namespace
}  // namespace thalweg::testing
