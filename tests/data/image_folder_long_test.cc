// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "support/temporary_directory.h"
#include "thalweg/data/image_folder.h"
#include "thalweg/data/loader.h"

namespace thalweg::data {
namespace {

using testing::TemporaryDirectory;

/// Writes files <folder>/<n>.gif.
void write_files(const std::string& folder, int count, const std::string& bytes) {
  std::filesystem::create_directories(folder);
  for (int i = 0; i < count; ++i) {
    const std::string path = folder + "/" + std::to_string(i) + ".gif";
    const int file = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    ASSERT_GE(file, 0) << path;
    ASSERT_EQ(::write(file, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size())) << path;
    ::close(file);
  }
}

TEST(ImageFolderLong, AMillionFilesStartWithinFiveSeconds) {
  constexpr int kFolders = 10;
  constexpr int kFiles = 100000;
  const TemporaryDirectory root;
  // One black pixel.
  const std::string gif(
      "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01\x00\x00"
      "\x02\x02D\x01\x00;",
      35);
  std::thread other([&] {
    for (int i = 0; i < kFolders / 2; ++i) write_files(root / std::to_string(i), kFiles, gif);
  });
  for (int i = kFolders / 2; i < kFolders; ++i) write_files(root / std::to_string(i), kFiles, gif);
  other.join();

  const auto begin = std::chrono::steady_clock::now();
  const ImageFolder folder(root.path().string(), {.pipeline = Pipeline({Resize{.height = 8, .width = 8}})});
  Loader loader(folder, BatchSampler(folder.size(), {.batch_size = 64, .seed = 1}), {.max_batches = 10});
  LoadedBatch loaded;
  ASSERT_TRUE(loader.next(loaded));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("first batch of %lld files after %.2f s\n", static_cast<long long>(folder.size()), seconds);
  EXPECT_EQ(folder.size(), int64_t{kFolders} * kFiles);
  EXPECT_LT(seconds, 5.0);
}

}  // namespace
}  // namespace thalweg::data
