// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/describe.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/error_text.h"
#include "support/golden_image.h"
#include "support/no_more_threads.h"
#include "support/sanitized.h"
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

TEST(DescribeText, CountsLinesClassesAndLengths) {
  const testing::TemporaryDirectory directory;
  std::string text;
  for (int i = 0; i < 100; ++i) text += i % 4 == 0 ? "bad\tno\n" : "good\tFine film!\n\n";
  testing::write_bytes(directory / "reviews.txt", text);
  EXPECT_EQ(to_string(describe_text(directory / "reviews.txt")),
            "100 lines, 4 different tokens\n"
            "tokens of a line: 1 to 3, mean 3; half have at most 3, 90% 3, 99% 3\n"
            "2 classes\n  bad: 25\n  good: 75\n");
  testing::write_bytes(directory / "plain.txt", "bad\tno\nwithout a class\n");
  const TextSummary plain = describe_text(directory / "plain.txt");
  EXPECT_TRUE(plain.classes.empty());
  EXPECT_EQ(plain.shortest, 2) << "what lies before the tab is text";
  EXPECT_EQ(plain.tokens, 5);
  testing::write_bytes(directory / "empty.txt", "");
  EXPECT_EQ(to_string(describe_text(directory / "empty.txt")), "0 lines, 0 different tokens\n");
}

TEST(DescribeImages, OneThreadIsEnough) {
  if (testing::kSanitized) GTEST_SKIP() << "the sanitizers make stacks of their own";
  const testing::TemporaryDirectory directory;
  std::filesystem::copy_file(testing::image_path("photo.jpg"), directory / "a.jpg");
  const testing::NoMoreThreads limit;
  EXPECT_EQ(describe_images(directory.path().string(), {}, {}, 4).formats.at("JPEG"), 1);
}

TEST(DescribeImages, WhatTheProgressThrowsComesOut) {
  const testing::TemporaryDirectory directory;
  for (int i = 0; i < 8; ++i) {
    std::filesystem::copy_file(testing::image_path("photo.jpg"), directory / (std::to_string(i) + ".jpg"));
  }
  const auto stop = [](int64_t /*done*/, int64_t /*all*/) { raise("enough"); };
  EXPECT_EQ(testing::error_text([&] { describe_images(directory.path().string(), {}, stop, 3); }), "enough");
}

}  // namespace
}  // namespace thalweg::data
