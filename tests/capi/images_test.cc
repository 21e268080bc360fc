// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <vector>

#include "support/source_dir.h"
#include "thalweg/c_api.h"
#include "thalweg/data/transforms.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kPixels = R"({"transforms": [{"name": "center_crop", "height": 1, "width": 2}],
                                    "output": {"layout": "nhwc", "dtype": "u8"}})";

/// Frees what it holds.
struct Made {
  Made(const char* json, int32_t channels) { status = tw_pipeline_create(json, channels, &pipeline); }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;
  ~Made() { tw_pipeline_free(pipeline); }
  tw_pipeline* pipeline = nullptr;
  tw_status status;
};

std::vector<char> read(const std::string& name) {
  std::ifstream file(std::string(TW_SOURCE_DIR "/tests/golden/images/") + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(CApiImages, PixelsOfOpenCvBecomeRows) {
  const Made made(kPixels, 3);
  ASSERT_EQ(made.status, TW_OK) << tw_last_error();
  tw_value_info info;
  ASSERT_EQ(tw_pipeline_row(made.pipeline, &info), TW_OK);
  EXPECT_EQ(info.dtype, TW_U8);
  EXPECT_THAT(std::vector<int64_t>(info.dims, info.dims + info.rank), ElementsAre(1, 2, 3));

  const uint8_t color[] = {1, 2, 3, 4, 5, 6}, alpha[] = {1, 2, 3, 255, 4, 5, 6, 255}, gray[] = {7, 8};
  const tw_image images[] = {{color, 6, "color", 1, 2, 3}, {alpha, 8, "alpha", 1, 2, 4}, {gray, 2, nullptr, 1, 2, 1}};
  std::vector<uint8_t> rows(18);
  ASSERT_EQ(tw_pipeline_run(made.pipeline, images, 3, 2, rows.data(), rows.size(), nullptr), TW_OK) << tw_last_error();
  EXPECT_THAT(rows, ElementsAre(3, 2, 1, 6, 5, 4, 3, 2, 1, 6, 5, 4, 7, 7, 7, 8, 8, 8));
  EXPECT_EQ(tw_pipeline_run(made.pipeline, images, 3, 1, rows.data(), 17, nullptr), TW_ERROR);
  EXPECT_THAT(tw_last_error(), HasSubstr("17"));
}

TEST(CApiImages, FilesAreDecodedAsByThePipelineItself) {
  const std::vector<char> file = read("photo.jpg");
  ASSERT_FALSE(file.empty());
  const std::string json = data::Pipeline({data::Resize{8, 8}}).to_json();
  const Made made(json.c_str(), 3);
  ASSERT_EQ(made.status, TW_OK) << tw_last_error();
  const tw_image images[] = {{file.data(), file.size(), "a.jpg", 0, 0, 0},
                             {file.data(), file.size(), "b.jpg", 0, 0, 0}};
  std::vector<float> rows(2 * 3 * 8 * 8), expected(3 * 8 * 8);
  ASSERT_EQ(tw_pipeline_run(made.pipeline, images, 2, 2, rows.data(), rows.size() * 4, nullptr), TW_OK)
      << tw_last_error();
  data::ImageSample sample({reinterpret_cast<const uint8_t*>(file.data()), file.size()}, "photo.jpg");
  data::Pipeline::from_json(json).run(sample, {}, 0, expected.data());
  EXPECT_EQ(std::vector<float>(rows.begin(), rows.begin() + 192), expected);
  EXPECT_EQ(std::vector<float>(rows.begin() + 192, rows.end()), expected);
}

TEST(CApiImages, ABadImageIsAnErrorOrIsMarked) {
  const Made made(kPixels, 3);
  const uint8_t good[] = {1, 2, 3, 4, 5, 6};
  const tw_image images[] = {{good, 6, "good", 1, 2, 3},
                             {"no image", 8, "hdfs://here/bad.jpg", 0, 0, 0},
                             {good, 5, "short", 1, 2, 3},
                             {good, 6, "vast", int64_t{1} << 40, int64_t{1} << 40, 3},
                             {nullptr, 0, "empty", 0, 0, 0}};
  std::vector<uint8_t> rows(30), failed(5, 9);
  EXPECT_EQ(tw_pipeline_run(made.pipeline, images, 5, 1, rows.data(), rows.size(), nullptr), TW_ERROR);
  EXPECT_THAT(tw_last_error(), HasSubstr("hdfs://here/bad.jpg"));
  ASSERT_EQ(tw_pipeline_run(made.pipeline, images, 5, 2, rows.data(), rows.size(), failed.data()), TW_OK);
  EXPECT_THAT(failed, ElementsAre(0, 1, 1, 1, 1));
  EXPECT_THAT(tw_last_error(), HasSubstr("hdfs://here/bad.jpg"));
}

TEST(CApiImages, RefusesPipelinesWithoutOneSize) {
  const Made free_size(R"({"transforms": []})", 3);
  EXPECT_EQ(free_size.status, TW_ERROR);
  const Made unknown(R"({"transforms": [{"name": "resise"}]})", 3);
  EXPECT_EQ(unknown.status, TW_ERROR);
  EXPECT_THAT(tw_last_error(), HasSubstr("resise"));
  const Made channels(kPixels, 2);
  EXPECT_EQ(channels.status, TW_ERROR);
}

}  // namespace
}  // namespace thalweg
