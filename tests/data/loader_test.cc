// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/loader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

namespace thalweg::data {
namespace {

/// Sample i is the number i; counts calls and fails at one sample if told to.
class Numbers : public Dataset {
 public:
  explicit Numbers(int64_t size, int64_t bad = -1) : size_(size), bad_(bad) {}
  int64_t size() const override { return size_; }
  std::vector<TensorType> input_types() const override { return {{DType::kI64, {kFree}}}; }
  std::vector<TensorType> target_types() const override { return {}; }
  Batch fetch(std::span<const int64_t> indices) const override {
    ++calls;
    for (const int64_t index : indices) TW_REQUIRE(index != bad_, "sample ", index, " is broken");
    Batch batch;
    batch.inputs.push_back(
        Tensor::from<int64_t>({static_cast<int64_t>(indices.size())}, {indices.begin(), indices.end()}));
    return batch;
  }
  mutable std::atomic<int> calls{0};

 private:
  int64_t size_, bad_;
};

TEST(Loader, KeepsTheOrderAndMarksEpochs) {
  const Numbers dataset(10);
  Loader loader(dataset, BatchSampler(10, {.batch_size = 4, .shuffle = false}), 2, 6);
  LoadedBatch loaded;
  for (int64_t i = 0; i < 6; ++i) {
    ASSERT_TRUE(loader.next(loaded));
    EXPECT_EQ(loaded.position, (SamplerPosition{i / 3, i % 3}));
    EXPECT_EQ(loaded.last_of_epoch, i % 3 == 2);
    EXPECT_EQ(loaded.batch.inputs[0].data<int64_t>()[0], i % 3 * 4);
    EXPECT_EQ(loaded.batch.size(), i % 3 == 2 ? 2 : 4);
  }
  EXPECT_FALSE(loader.next(loaded));
  EXPECT_FALSE(loader.next(loaded));
}

TEST(Loader, FetchesAheadButNoMoreThanTheQueueHolds) {
  const Numbers dataset(1000);
  Loader loader(dataset, BatchSampler(1000, {.batch_size = 1}), 3);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  // Three in the queue and one in hand.
  while (dataset.calls < 4 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(dataset.calls, 4);
  LoadedBatch loaded;
  ASSERT_TRUE(loader.next(loaded));
  EXPECT_LT(loaded.wait_seconds, 10.0);
}

TEST(Loader, AnErrorComesOutAtItsBatch) {
  const Numbers dataset(10, 5);
  Loader loader(dataset, BatchSampler(10, {.batch_size = 2, .shuffle = false}), 4);
  LoadedBatch loaded;
  ASSERT_TRUE(loader.next(loaded));
  ASSERT_TRUE(loader.next(loaded));
  EXPECT_THROW(loader.next(loaded), Error);
  EXPECT_THROW(loader.next(loaded), Error) << "the error stays, rather than a hang";
}

TEST(Loader, StopsCleanlyWhenLeftEarly) {
  const Numbers dataset(100000);
  for (int i = 0; i < 50; ++i) {
    Loader loader(dataset, BatchSampler(100000, {.batch_size = 1, .shuffle = false}), 1 + i % 3);
    LoadedBatch loaded;
    for (int k = 0; k < i % 4; ++k) ASSERT_TRUE(loader.next(loaded));
  }
}

}  // namespace
}  // namespace thalweg::data
