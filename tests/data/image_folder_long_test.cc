// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "support/golden_image.h"
#include "support/temporary_directory.h"
#include "thalweg/data/image_folder.h"
#include "thalweg/data/loader.h"

namespace thalweg::data {
namespace {

using testing::TemporaryDirectory;

/// Fills a folder with files <n>.png. A file gets as many names as its file system allows for: that takes seconds where
/// a million inodes take minutes, and to a reader it is the same.
void fill_folder(const std::string& folder, int count, const std::string& image) {
  constexpr int kNamesPerFile = 50000;
  std::filesystem::create_directories(folder);
  std::string file;
  for (int i = 0; i < count; ++i) {
    const std::string path = folder + "/" + std::to_string(i) + ".png";
    if (i % kNamesPerFile == 0) {
      file = path;
      std::filesystem::copy_file(image, file);
    } else {
      ASSERT_EQ(::link(file.c_str(), path.c_str()), 0) << path << ": " << std::strerror(errno);
    }
  }
}

TEST(ImageFolderLong, AMillionFilesAreListedAndTheFirstBatchComes) {
  constexpr int kFolders = 10;
  constexpr int kFiles = 100000;
  const TemporaryDirectory root;
  for (int i = 0; i < kFolders; ++i)
    fill_folder(root / std::to_string(i), kFiles, testing::image_path("photo_two.png"));

  const auto begin = std::chrono::steady_clock::now();
  const ImageFolder folder(root.path().string(), {.pipeline = Pipeline({Resize{.height = 8, .width = 8}})});
  Loader loader(folder, BatchSampler(folder.size(), {.batch_size = 64, .seed = 1}), {.max_batches = 10});
  LoadedBatch loaded;
  ASSERT_TRUE(loader.next(loaded));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("first batch of %lld files after %.2f s\n", static_cast<long long>(folder.size()), seconds);
  EXPECT_EQ(folder.size(), int64_t{kFolders} * kFiles);
  // Some two seconds on an idle machine; minutes if each file were looked at.
  EXPECT_LT(seconds, 60.0);
}

}  // namespace
}  // namespace thalweg::data
