// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <filesystem>

#include "support/golden_image.h"
#include "support/sanitized.h"
#include "support/temporary_directory.h"
#include "thalweg/data/image_folder.h"
#include "thalweg/data/loader.h"

namespace thalweg::data {
namespace {

/// What this process has allocated and not freed. Resident memory would depend on how the allocator's arenas happen to
/// be shared by threads.
size_t allocated_bytes() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST(LoaderMemory, IsFlatOverTwentyEpochs) {
  if (testing::kSanitized) GTEST_SKIP() << "sanitizers keep freed memory for themselves";
  const testing::TemporaryDirectory root;
  std::filesystem::create_directories(root / "photos");
  for (int i = 0; i < 48; ++i) {
    const std::string name = i % 2 == 0 ? "photo.jpg" : "photo.png";
    std::filesystem::copy_file(testing::image_path(name), root / "photos/" + std::to_string(i) + name);
  }
  const Pipeline pipeline({RandomResizedCrop{.height = 224, .width = 224}, HorizontalFlip{}, ColorJitter{}});
  const ImageFolder folder(root.path().string(), {.pipeline = pipeline, .cache = {.memory_bytes = 100000}});
  const BatchSampler sampler(folder.size(), {.batch_size = 8, .seed = 4});
  Loader loader(folder, sampler, {.threads = 2, .max_batches = 20 * sampler.batches_per_epoch()});
  LoadedBatch loaded;
  // How much is in use at one time depends on who is quicker, the loader or this thread; that it does not grow is seen
  // by comparing the most of the first ten epochs with the most of the last ten.
  size_t most[2] = {0, 0}, batch_bytes = 0;
  while (loader.next(loaded)) {
    batch_bytes = loaded.batch.inputs[0].num_bytes();
    size_t& half = most[loaded.position.epoch < 10 ? 0 : 1];
    half = std::max(half, allocated_bytes());
  }
  ASSERT_GT(most[0], batch_bytes);
  EXPECT_LT(most[1], most[0] + 4 * batch_bytes) << "one batch, in 60, is never freed, or as much";
}

}  // namespace
}  // namespace thalweg::data
