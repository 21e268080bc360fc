// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/describe.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/error_text.h"
#include "support/golden_image.h"
#include "support/temporary_directory.h"

namespace thalweg::data {
namespace {

TEST(DescribeImages, CountsClassesFormatsSizesAndBadFiles) {
  const testing::TemporaryDirectory directory;
  for (const char* folder : {"cat", "dog"}) std::filesystem::create_directories(directory / folder);
  std::filesystem::copy_file(testing::image_path("photo.jpg"), directory / "cat/a.jpg");
  std::filesystem::copy_file(testing::image_path("photo.png"), directory / "cat/b.jpg");
  std::filesystem::copy_file(testing::image_path("photo.gif"), directory / "dog/c.gif");
  testing::write_bytes(directory / "dog/d.jpg", "");
  int64_t last = 0;
  const ImageSummary summary = describe_images(
      directory.path().string(), {}, [&](int64_t done, int64_t all) { last = 100 * done / all; }, 2);
  EXPECT_EQ(last, 100);
  EXPECT_EQ(to_string(summary),
            "4 images: 1 GIF, 1 JPEG, 1 PNG\n"
            "width 61 to 61, mean 61; height 47 to 47, mean 47\n"
            "2 classes\n  cat: 2\n  dog: 2\n"
            "1 bad files\n  " +
                directory / "dog/d.jpg" + ": the file is empty\n");
}

TEST(DescribeImages, AnErrorOfWhoeverWatchesComesOut) {
  const testing::TemporaryDirectory directory;
  for (const char* name : {"a.jpg", "b.jpg"}) {
    std::filesystem::copy_file(testing::image_path("photo.jpg"), directory / name);
  }
  const auto watch = [](int64_t, int64_t) { throw Error("nobody watches"); };
  EXPECT_EQ(testing::error_text([&] { describe_images(directory.path().string(), {}, watch, 2); }), "nobody watches");
}

}  // namespace
}  // namespace thalweg::data
