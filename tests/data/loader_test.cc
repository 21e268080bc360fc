// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/loader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "support/error_text.h"
#include "support/no_more_threads.h"
#include "support/patience.h"
#include "support/sanitized.h"

namespace thalweg::data {
namespace {

/// Sample i is the number i; counts calls and fails at one sample if told to.
class Numbers : public Dataset {
 public:
  explicit Numbers(int64_t size, int64_t bad = -1) : size_(size), bad_(bad) {}
  int64_t size() const override { return size_; }
  std::vector<TensorType> input_types() const override { return {{DType::kI64, {kFree}}}; }
  std::vector<TensorType> target_types() const override { return {}; }
  void read(std::span<const int64_t> indices, const Draw& draw, const Batch& batch, int64_t row) const override {
    ++calls;
    for (const int64_t index : indices) {
      TW_REQUIRE(index != bad_, "sample ", index, " is broken");
      batch.inputs[0].data<int64_t>()[row++] = index + 1000000 * draw.epoch;
    }
  }
  bool is_costly() const override { return costly; }
  bool costly = false;
  mutable std::atomic<int> calls{0};

 private:
  int64_t size_, bad_;
};

TEST(Loader, KeepsTheOrderAndMarksEpochs) {
  const Numbers dataset(10);
  Loader loader(dataset, BatchSampler(10, {.batch_size = 4, .shuffle = false}), {.max_batches = 6});
  LoadedBatch loaded;
  for (int64_t i = 0; i < 6; ++i) {
    ASSERT_TRUE(loader.next(loaded));
    EXPECT_EQ(loaded.position, (SamplerPosition{i / 3, i % 3}));
    EXPECT_EQ(loaded.last_of_epoch, i % 3 == 2);
    EXPECT_EQ(loaded.batch.inputs[0].data<int64_t>()[0], i % 3 * 4 + i / 3 * 1000000);
    EXPECT_EQ(loaded.batch.size(), i % 3 == 2 ? 2 : 4);
  }
  EXPECT_FALSE(loader.next(loaded));
  EXPECT_FALSE(loader.next(loaded));
}

TEST(Loader, FetchesAheadButNoMoreThanTheQueueHolds) {
  const Numbers dataset(1000);
  Loader loader(dataset, BatchSampler(1000, {.batch_size = 1}), {.depth = 3});
  EXPECT_TRUE(testing::eventually([&] { return dataset.calls >= 3; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(dataset.calls, 3);
  LoadedBatch loaded;
  ASSERT_TRUE(loader.next(loaded));
}

TEST(Loader, AnErrorComesOutAtItsBatch) {
  const Numbers dataset(10, 5);
  Loader loader(dataset, BatchSampler(10, {.batch_size = 2, .shuffle = false}), {.depth = 4});
  LoadedBatch loaded;
  ASSERT_TRUE(loader.next(loaded));
  ASSERT_TRUE(loader.next(loaded));
  EXPECT_THROW(loader.next(loaded), Error);
  EXPECT_THROW(loader.next(loaded), Error) << "the error stays, rather than a hang";
}

TEST(Loader, AnErrorOutsideOfReadingComesOutToo) {
  struct Moody : Numbers {
    Moody() : Numbers(10) {}
    std::thread::id owner = std::this_thread::get_id();
    bool is_costly() const override {
      TW_REQUIRE(std::this_thread::get_id() == owner, "in no mood to answer");
      return false;
    }
  };
  const Moody dataset;
  Loader loader(dataset, BatchSampler(10, {.batch_size = 2}), {.depth = 4});
  LoadedBatch loaded;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(testing::error_text([&] { loader.next(loaded); }), "in no mood to answer");
  }
}

TEST(Loader, StopsCleanlyWhenLeftEarly) {
  const Numbers dataset(100000);
  for (int i = 0; i < 50; ++i) {
    Loader loader(dataset, BatchSampler(100000, {.batch_size = 1, .shuffle = false}), {.depth = 1 + i % 3});
    LoadedBatch loaded;
    for (int k = 0; k < i % 4; ++k) ASSERT_TRUE(loader.next(loaded));
  }
}

/// Every number that comes out in `batches` batches, with the sizes of the batches between them.
std::vector<int64_t> all_of(const Dataset& dataset, const SamplerOptions& order, LoaderOptions options, int batches) {
  Loader loader(dataset, BatchSampler(dataset.size(), order), options);
  std::vector<int64_t> result;
  LoadedBatch loaded;
  for (int i = 0; i < batches; ++i) {
    EXPECT_TRUE(loader.next(loaded));
    const int64_t* values = loaded.batch.inputs[0].data<int64_t>();
    result.insert(result.end(), values, values + loaded.batch.size());
    result.push_back(-loaded.batch.size());
  }
  return result;
}

TEST(Loader, WhatComesOutDoesNotDependOnThreads) {
  for (const bool costly : {false, true}) {
    Numbers dataset(103);
    dataset.costly = costly;
    const SamplerOptions order{.batch_size = 8, .seed = 5};
    const std::vector<int64_t> one = all_of(dataset, order, {.depth = 1, .threads = 1}, 40);
    EXPECT_EQ(all_of(dataset, order, {.depth = 3, .threads = 4}, 40), one);
    EXPECT_EQ(all_of(dataset, order, {.depth = 9, .threads = 2}, 40), one);
  }
}

TEST(Loader, BadSamplesAreLeftOutAndCounted) {
  for (const bool costly : {false, true}) {
    Numbers dataset(10, 5);
    dataset.costly = costly;
    Loader loader(dataset, BatchSampler(10, {.batch_size = 4, .shuffle = false}),
                  {.threads = 3, .max_batches = 6, .bad = BadSample::kSkip});
    LoadedBatch loaded;
    std::vector<int64_t> sizes;
    while (loader.next(loaded)) {
      sizes.push_back(loaded.batch.size());
      if (sizes.size() == 2) {
        EXPECT_EQ(loaded.batch.inputs[0].data<int64_t>()[1], 6) << "the rows after it move up";
        EXPECT_EQ(loaded.samples, (std::vector<int64_t>{4, 6, 7}));
      }
    }
    EXPECT_EQ(sizes, (std::vector<int64_t>{4, 3, 2, 4, 3, 2}));
    EXPECT_EQ(loader.skipped().count, 2);
    EXPECT_EQ(loader.skipped().reasons.at(0), "sample 5 is broken");
  }
}

TEST(Loader, ABatchOfBadSamplesOnlyIsEmpty) {
  const Numbers dataset(4, 2);
  Loader loader(dataset, BatchSampler(4, {.batch_size = 1, .shuffle = false}),
                {.max_batches = 12, .bad = BadSample::kSkip});
  LoadedBatch loaded;
  std::vector<int64_t> sizes;
  int64_t skipped = 0;
  while (loader.next(loaded)) {
    sizes.push_back(loaded.batch.size());
    skipped += loaded.skipped.count;
  }
  EXPECT_EQ(sizes, (std::vector<int64_t>{1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1}));
  EXPECT_EQ(skipped, 3);
  EXPECT_EQ(to_string(loader.skipped()), "3 samples that could not be read were left out: sample 2 is broken");
}

TEST(Loader, SamplesThatAreAllBadFail) {
  class Gone : public Numbers {
   public:
    Gone() : Numbers(6) {}
    void read(std::span<const int64_t> indices, const Draw& /*draw*/, const Batch& /*batch*/,
              int64_t /*row*/) const override {
      raise("sample ", indices[0], " is gone");
    }
  };
  const Gone dataset;
  Loader loader(dataset, BatchSampler(6, {.batch_size = 4, .shuffle = false}), {.bad = BadSample::kSkip});
  LoadedBatch loaded;
  ASSERT_TRUE(loader.next(loaded));
  EXPECT_EQ(loaded.batch.size(), 0);
  EXPECT_EQ(testing::error_text([&] { loader.next(loaded); }), "sample 4 is gone");
}

TEST(SkippedSamples, KeepsAFewReasonsAndTellsFewer) {
  SkippedSamples all;
  EXPECT_EQ(to_string(all), "");
  for (int i = 0; i < 20; ++i) all.add({2, {"file " + std::to_string(i) + " is bad"}});
  EXPECT_EQ(all.count, 40);
  EXPECT_EQ(all.reasons.size(), SkippedSamples::kMostReasons);
  EXPECT_EQ(to_string(all),
            "40 samples that could not be read were left out: file 0 is bad; file 1 is bad; file 2 is bad; ...");
}

TEST(Loader, UsesTheMemoryOfABatchAgainOnceItIsFree) {
  const Numbers dataset(1000);
  Loader loader(dataset, BatchSampler(1000, {.batch_size = 10, .shuffle = false}), {.depth = 2});
  std::set<const void*> places;
  LoadedBatch kept;
  ASSERT_TRUE(loader.next(kept));
  LoadedBatch loaded;
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(loader.next(loaded));
    places.insert(loaded.batch.inputs[0].raw());
  }
  EXPECT_LE(places.size(), 4U);
  EXPECT_EQ(places.count(kept.batch.inputs[0].raw()), 0U) << "somebody still reads this one";
  EXPECT_EQ(kept.batch.inputs[0].data<int64_t>()[9], 9);
}

/// Whose samples do not come before `release`. Shared with its readers, as those of datasets that read files are.
class Stuck : public Numbers {
 public:
  Stuck() : Numbers(4) {}
  void read(std::span<const int64_t> /*indices*/, const Draw& /*draw*/, const Batch& /*batch*/,
            int64_t /*row*/) const override {
    const std::shared_ptr<Gate> gate = gate_;
    std::unique_lock<std::mutex> lock(gate->mutex);
    ++gate->waiting;
    gate->changed.notify_all();
    gate->changed.wait(lock, [&] { return gate->open; });
    --gate->waiting;
    gate->changed.notify_all();
  }
  struct Gate {
    /// Returns when no reader is left.
    void release() {
      std::unique_lock<std::mutex> lock(mutex);
      open = true;
      changed.notify_all();
      changed.wait_for(lock, testing::patience(), [&] { return waiting == 0; });
    }
    std::mutex mutex;
    std::condition_variable changed;
    bool open = false;
    int waiting = 0;
  };
  const std::shared_ptr<Gate>& gate() const { return gate_; }

 private:
  std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
};

// Whoever unwinds must not wait for the reader either, which is stuck for longer than the test takes.
TEST(Loader, WaitsNoLongerThanItWasTold) {
  std::shared_ptr<Stuck::Gate> gate;
  {
    const Stuck dataset;
    gate = dataset.gate();
    Loader loader(dataset, BatchSampler(4, {.batch_size = 2}), {.threads = 2, .patience = std::chrono::seconds(1)});
    LoadedBatch loaded;
    EXPECT_EQ(testing::error_text([&] { loader.next(loaded); }),
              "no batch within 1 s: reading epoch 0, batch 0 has not ended");
  }
  gate->release();
}

TEST(Loader, EndsInTimeWithoutACallToNext) {
  const Stuck dataset;
  { const Loader loader(dataset, BatchSampler(4, {.batch_size = 2}), {.patience = std::chrono::seconds(1)}); }
  dataset.gate()->release();
}

TEST(Loader, AStopEndsAWait) {
  const Stuck dataset;
  {
    int asked = 0;
    LoaderOptions options;
    options.stopping = [&] { return ++asked >= 3; };
    options.stop_patience = std::chrono::seconds(1);
    Loader loader(dataset, BatchSampler(4, {.batch_size = 2}), options);
    LoadedBatch loaded;
    EXPECT_THROW(loader.next(loaded), WaitStopped);
    EXPECT_EQ(asked, 3);
  }
  dataset.gate()->release();
}

TEST(Loader, ABatchThatComesInTimeAfterAStopIsHandedOut) {
  class Slow : public Numbers {
   public:
    Slow() : Numbers(4) {}
    void read(std::span<const int64_t> indices, const Draw& draw, const Batch& batch, int64_t row) const override {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      Numbers::read(indices, draw, batch, row);
    }
  };
  const Slow dataset;
  LoaderOptions options;
  options.stopping = [] { return true; };
  options.stop_patience = std::chrono::seconds(60);
  Loader loader(dataset, BatchSampler(4, {.batch_size = 4, .shuffle = false}), options);
  LoadedBatch loaded;
  ASSERT_TRUE(loader.next(loaded));
  EXPECT_EQ(loaded.batch.inputs[0].data<int64_t>()[3], 3);
}

TEST(Loader, WhatFailsOutsideOfASampleIsAnErrorToo) {
  class Exhausted : public Numbers {
   public:
    Exhausted() : Numbers(8) {}
    bool is_costly() const override {
      if (++asked > 2) throw std::bad_alloc();
      return false;
    }
    mutable std::atomic<int> asked{0};
  };
  const Exhausted dataset;
  Loader loader(dataset, BatchSampler(8, {.batch_size = 2, .shuffle = false}), {.threads = 1});
  LoadedBatch loaded;
  EXPECT_TRUE(loader.next(loaded)) << "read before";
  EXPECT_THROW(loader.next(loaded), std::bad_alloc);
  EXPECT_THROW(loader.next(loaded), std::bad_alloc) << "the error stays, rather than a hang";
}

TEST(Loader, WithoutThreadsThereIsAMessage) {
  if (testing::kSanitized) GTEST_SKIP() << "the sanitizers make stacks of their own";
  const Numbers dataset(8);
  const testing::NoMoreThreads limit;
  EXPECT_EQ(testing::error_text([&] {
              Loader(dataset, BatchSampler(8, {.batch_size = 2}), {.threads = 3});
            }).rfind("no thread can be started to read data: ", 0),
            0U);
}

}  // namespace
}  // namespace thalweg::data
