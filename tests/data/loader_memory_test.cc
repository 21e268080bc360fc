// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support/golden_image.h"
#include "support/sanitized.h"
#include "support/temporary_directory.h"
#include "thalweg/data/image_folder.h"
#include "thalweg/data/loader.h"

namespace thalweg::data {
namespace {

/// Of this process, in bytes.
double resident_bytes() {
  double pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
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
  // By then every buffer and every thread's memory is there.
  double after_five = 0;
  while (loader.next(loaded)) {
    if (loaded.last_of_epoch && loaded.position.epoch == 4) after_five = resident_bytes();
  }
  EXPECT_LT(resident_bytes(), 1.05 * after_five);
}

}  // namespace
}  // namespace thalweg::data
