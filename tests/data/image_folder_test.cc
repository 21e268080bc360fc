// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/image_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support/bad_images.h"
#include "support/error_text.h"
#include "support/golden_image.h"
#include "support/temporary_directory.h"
#include "thalweg/data/loader.h"

namespace thalweg::data {
namespace {

using testing::error_text;
using testing::TemporaryDirectory;

void copy_photo(const std::string& kind, const std::filesystem::path& target) {
  std::filesystem::create_directories(target.parent_path());
  std::filesystem::copy_file(testing::image_path(kind), target);
}

/// Three images of "cat", two of "dog" (one in a folder of its own), and files that are no images.
class ImageFolderTest : public ::testing::Test {
 protected:
  ImageFolderTest() {
    copy_photo("photo.jpg", root_ / "cat/b.jpg");
    copy_photo("photo.png", root_ / "cat/a.JPG");
    copy_photo("photo.gif", root_ / "cat/c.gif");
    copy_photo("photo.bmp", root_ / "dog/inner/x.bmp");
    copy_photo("photo_cmyk.jpg", root_ / "dog/y.jpeg");
    testing::write_bytes(root_ / "cat/notes.txt", "not an image");
  }
  std::string root() const { return root_.path().string(); }

  TemporaryDirectory root_;
  ImageFolderOptions options_{.pipeline = Pipeline({RandomResizedCrop{.height = 20, .width = 24}, HorizontalFlip{}})};
};

TEST_F(ImageFolderTest, AFolderIsAClass) {
  const ImageFolder folder(root(), options_);
  EXPECT_EQ(folder.classes(), (std::vector<std::string>{"cat", "dog"}));
  ASSERT_EQ(folder.size(), 5);
  EXPECT_EQ(folder.path(0), root_ / "cat/a.JPG");
  EXPECT_EQ(folder.path(3), root_ / "dog/y.jpeg");
  EXPECT_EQ(folder.path(4), root_ / "dog/inner/x.bmp");
  const Batch batch = folder.fetch(std::vector<int64_t>{4, 0, 1, 2, 3});
  EXPECT_EQ(batch.inputs[0].type(), (TensorType{DType::kF32, {5, 3, 20, 24}}));
  EXPECT_EQ(batch.targets[0].data<int64_t>()[0], 1);
  EXPECT_EQ(batch.targets[0].data<int64_t>()[1], 0);
}

TEST_F(ImageFolderTest, AManifestGivesClassesOrNumbers) {
  testing::write_bytes(root_ / "list.tsv", "# path and class\ncat/b.jpg\tzebra\n\ndog/y.jpeg\tape\r\n");
  options_.labels = ImageLabels::kManifest;
  options_.manifest = root_ / "list.tsv";
  const ImageFolder named(root(), options_);
  EXPECT_EQ(named.classes(), (std::vector<std::string>{"ape", "zebra"}));
  EXPECT_EQ(named.label(0), 1);
  EXPECT_EQ(named.label(1), 0);
  testing::write_bytes(root_ / "list.tsv", "cat/b.jpg,3\ndog/y.jpeg,1\n");
  const ImageFolder numbered(root(), options_);
  EXPECT_EQ(numbered.label(0), 3);
  EXPECT_EQ(numbered.classes().size(), 4U);
  testing::write_bytes(root_ / "list.tsv", "cat/b.jpg,3\ndog/y.jpeg\n");
  EXPECT_EQ(error_text([&] { ImageFolder(root(), options_); }),
            root_ / "list.tsv" + ": line 2: expected a path, a tab or comma, and a class, got 'dog/y.jpeg'");
}

TEST_F(ImageFolderTest, WithoutLabelsThereAreNoTargets) {
  options_.labels = ImageLabels::kNone;
  const ImageFolder folder(root(), options_);
  EXPECT_EQ(folder.size(), 5);
  EXPECT_TRUE(folder.target_types().empty());
  EXPECT_EQ(folder.fetch(std::vector<int64_t>{2}).targets.size(), 0U);
}

TEST_F(ImageFolderTest, WhatCannotBeOpenedIsNamed) {
  EXPECT_EQ(error_text([&] { ImageFolder(root_ / "absent", options_); }),
            root_ / "absent" + ": cannot list: No such file or directory");
  std::filesystem::create_directories(root_ / "empty");
  EXPECT_EQ(error_text([&] { ImageFolder(root(), options_); }), root_ / "empty" + ": holds no images");
  std::filesystem::remove(root_ / "empty");
  EXPECT_NE(error_text([&] { ImageFolder(root_ / "cat", options_); }).find("holds no folders"), std::string::npos);
  EXPECT_NE(error_text([&] { ImageFolder(root(), {}); }).find("a batch needs one size"), std::string::npos);
}

std::vector<float> epoch_of(const ImageFolder& folder, int threads) {
  Loader loader(folder, BatchSampler(folder.size(), {.batch_size = 2, .seed = 3}),
                {.depth = 3, .threads = threads, .max_batches = 9});
  std::vector<float> result;
  LoadedBatch loaded;
  while (loader.next(loaded)) {
    const float* values = loaded.batch.inputs[0].data<float>();
    result.insert(result.end(), values, values + loaded.batch.inputs[0].num_elements());
  }
  return result;
}

TEST_F(ImageFolderTest, BatchesDoNotDependOnThreadsOrCaches) {
  const std::vector<float> plain = epoch_of(ImageFolder(root(), options_), 1);
  EXPECT_EQ(epoch_of(ImageFolder(root(), options_), 4), plain);
  options_.cache = {.memory_bytes = 8000, .disk_bytes = 1 << 20, .directory = root()};
  const ImageFolder cached(root(), options_);
  EXPECT_EQ(epoch_of(cached, 2), plain);
  EXPECT_EQ(cached.cache_status().in_memory + cached.cache_status().on_disk, 5);
  EXPECT_GT(cached.cache_status().on_disk, 0);
  EXPECT_EQ(cached.cache_status().misses, 5);
  options_.cache_what = ImageCache::kPixels;
  // Decoded whole rather than by part, the pixels are the same: no part here is scaled down.
  options_.pipeline = Pipeline({RandomResizedCrop{.height = 47, .width = 61}});
  const ImageFolder pixels(root(), options_);
  const std::vector<float> first = epoch_of(pixels, 2);
  options_.cache = {};
  EXPECT_EQ(first, epoch_of(ImageFolder(root(), options_), 2));
}

TEST_F(ImageFolderTest, ABadFileFailsWithItsPathOrIsLeftOut) {
  testing::write_bytes(root_ / "dog/bad.jpg", "\xFF\xD8\xFF and no more");
  const ImageFolder folder(root(), options_);
  const SamplerOptions order{.batch_size = 6, .shuffle = false};
  LoadedBatch loaded;
  Loader failing(folder, BatchSampler(6, order));
  EXPECT_EQ(error_text([&] { failing.next(loaded); }).rfind(root_ / "dog/bad.jpg" + ": bad JPEG: ", 0), 0U);
  Loader skipping(folder, BatchSampler(6, order), {.bad = BadSample::kSkip});
  ASSERT_TRUE(skipping.next(loaded));
  EXPECT_EQ(loaded.batch.size(), 5);
  EXPECT_EQ(skipping.skipped().count, 1);
}

TEST(ImageFolderOfOddFiles, ReadsWhatCanBeReadAndNamesTheRest) {
  const TemporaryDirectory root;
  testing::write_odd_images(root.path() / "photos");
  const ImageFolder folder(root.path().string(), {.pipeline = Pipeline({Resize{.height = 8, .width = 8}})});
  Loader loader(folder, BatchSampler(folder.size(), {.batch_size = 3, .shuffle = false}),
                {.max_batches = 3, .bad = BadSample::kSkip});
  int64_t read = 0;
  for (LoadedBatch loaded; loader.next(loaded);) read += loaded.batch.size();
  EXPECT_EQ(read, testing::kOddButGoodImages);
  ASSERT_EQ(loader.skipped().count, testing::kBadImages);
  for (const std::string& reason : loader.skipped().reasons) {
    EXPECT_EQ(reason.rfind(root / "photos/bad_", 0), 0U) << reason;
  }
}

TEST(ImageFolderOfOddFiles, AFolderThatCannotBeListedIsNamed) {
  const TemporaryDirectory root;
  copy_photo("photo.jpg", root / "open/a.jpg");
  std::filesystem::create_directories(root / "closed");
  std::filesystem::permissions(root / "closed", std::filesystem::perms::none);
  if (::access((root / "closed").c_str(), R_OK) == 0) GTEST_SKIP() << "nothing is unreadable to this user";
  EXPECT_EQ(error_text([&] { ImageFolder(root.path().string(), {.pipeline = Pipeline({Resize{}})}); }),
            root / "closed" + ": cannot list: Permission denied");
  std::filesystem::permissions(root / "closed", std::filesystem::perms::owner_all);
}

TEST(Cached, KeepsWhatFitsAndReadsTheRestAgain) {
  const testing::TemporaryDirectory directory;
  Tensor values(DType::kF32, {10, 25});
  for (int64_t i = 0; i < 250; ++i) values.data<float>()[i] = static_cast<float>(i);
  const auto source =
      std::make_shared<TensorDataset>(std::vector{values}, std::vector{Tensor::zeros(DType::kI64, {10})});
  // A sample has 108 bytes: four fit in memory, three on disk.
  const Cached cached(source, {.memory_bytes = 450, .disk_bytes = 330, .directory = directory.path().string()});
  const std::vector<int64_t> all = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
  for (int round = 0; round < 3; ++round) {
    const Batch batch = cached.fetch(all);
    for (int64_t i = 0; i < 10; ++i) {
      ASSERT_EQ(batch.inputs[0].data<float>()[25 * i + 3], static_cast<float>(25 * (9 - i) + 3));
    }
  }
  const CacheStatus status = cached.cache_status();
  EXPECT_EQ(status.in_memory, 4);
  EXPECT_EQ(status.on_disk, 3);
  EXPECT_EQ(status.hits, 14);
  EXPECT_EQ(status.misses, 16);
  EXPECT_EQ(directory.num_files(), 0U) << "the file has no name";
  EXPECT_NE(error_text([&] { Cached(source, {.disk_bytes = 1, .directory = directory / "absent"}); }), "no error");
}

}  // namespace
}  // namespace thalweg::data
