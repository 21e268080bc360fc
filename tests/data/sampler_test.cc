// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "thalweg/data.h"

namespace thalweg::data {
namespace {

std::vector<int64_t> take(BatchSampler& sampler, int64_t batches) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < batches; ++i) {
    const auto batch = sampler.next();
    all.insert(all.end(), batch.begin(), batch.end());
  }
  return all;
}

TEST(BatchSampler, AnEpochHoldsEverySampleOnce) {
  BatchSampler sampler(103, {.batch_size = 10, .seed = 7});
  EXPECT_EQ(sampler.batches_per_epoch(), 11);
  const std::vector<int64_t> first = take(sampler, 11);
  const std::vector<int64_t> second = take(sampler, 11);
  EXPECT_NE(first, second);
  std::vector<int64_t> all(103);
  std::iota(all.begin(), all.end(), int64_t{0});
  EXPECT_NE(first, all);
  EXPECT_THAT(first, ::testing::UnorderedElementsAreArray(all));
  EXPECT_THAT(second, ::testing::UnorderedElementsAreArray(all));
}

TEST(BatchSampler, OrderDependsOnTheSeedAlone) {
  BatchSampler a(50, {.batch_size = 8, .seed = 1});
  BatchSampler b(50, {.batch_size = 8, .seed = 1});
  BatchSampler c(50, {.batch_size = 8, .seed = 2});
  const auto order = take(a, 20);
  EXPECT_EQ(order, take(b, 20));
  EXPECT_NE(order, take(c, 20));
}

TEST(BatchSampler, OrderIsTheSameOnEveryMachine) {
  BatchSampler sampler(8, {.batch_size = 8, .seed = 42});
  EXPECT_THAT(take(sampler, 1), ::testing::ElementsAre(3, 6, 0, 7, 1, 2, 5, 4));
}

TEST(BatchSampler, SharesOfABatchMakeUpTheBatch) {
  // 23 samples: the last batch has 3, fewer than there are workers.
  for (const int parts : {1, 2, 4, 7}) {
    BatchSampler whole(23, {.batch_size = 10, .seed = 7});
    std::vector<BatchSampler> workers;
    for (int part = 0; part < parts; ++part) {
      workers.emplace_back(23, SamplerOptions{.batch_size = 10, .seed = 7, .share = {part, parts}});
    }
    for (int batch = 0; batch < 6; ++batch) {
      const int64_t samples = whole.batch_samples();
      const auto expected = take(whole, 1);
      EXPECT_EQ(static_cast<int64_t>(expected.size()), samples);
      std::vector<int64_t> together;
      for (BatchSampler& worker : workers) {
        EXPECT_EQ(worker.position(), (SamplerPosition{batch / 3, batch % 3}));
        const auto share = take(worker, 1);
        together.insert(together.end(), share.begin(), share.end());
      }
      EXPECT_EQ(together, expected) << parts << " parts, batch " << batch;
    }
  }
}

TEST(BatchSampler, SeekContinuesExactly) {
  BatchSampler whole(37, {.batch_size = 5, .seed = 3});
  take(whole, 11);
  const SamplerPosition position = whole.position();
  EXPECT_EQ(position, (SamplerPosition{1, 3}));
  BatchSampler resumed(37, {.batch_size = 5, .seed = 3});
  resumed.seek(position);
  EXPECT_EQ(take(whole, 20), take(resumed, 20));
}

TEST(BatchSampler, LastBatchPolicies) {
  BatchSampler keep(10, {.batch_size = 4, .shuffle = false});
  take(keep, 2);
  EXPECT_THAT(keep.next(), ::testing::ElementsAre(8, 9));
  EXPECT_EQ(keep.position(), (SamplerPosition{1, 0}));
  BatchSampler drop(10, {.batch_size = 4, .shuffle = false, .last_batch = LastBatch::kDrop});
  EXPECT_THAT(take(drop, 3), ::testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3));
}

TEST(BatchSampler, RejectsWhatGivesNoBatch) {
  EXPECT_THROW(BatchSampler(0, {}), Error);
  EXPECT_THROW(BatchSampler(10, {.batch_size = 0}), Error);
  EXPECT_THROW(BatchSampler(3, {.batch_size = 4, .last_batch = LastBatch::kDrop}), Error);
  BatchSampler sampler(10, {.batch_size = 4});
  EXPECT_THROW(sampler.seek({0, 4}), Error);
  EXPECT_THROW(sampler.seek({-1, 0}), Error);
}

TEST(TensorDataset, GathersRowsInOrder) {
  const TensorDataset dataset({Tensor::from<float>({3, 2}, {0, 1, 2, 3, 4, 5})},
                              {Tensor::from<int64_t>({3}, {7, 8, 9})});
  EXPECT_EQ(dataset.input_types().at(0), (TensorType{DType::kF32, {kFree, 2}}));
  const std::vector<int64_t> indices = {2, 0, 2};
  const Batch batch = dataset.fetch(indices);
  EXPECT_EQ(batch.size(), 3);
  const float* x = batch.inputs[0].data<float>();
  EXPECT_THAT(std::vector<float>(x, x + 6), ::testing::ElementsAre(4, 5, 0, 1, 4, 5));
  const int64_t* y = batch.targets[0].data<int64_t>();
  EXPECT_THAT(std::vector<int64_t>(y, y + 3), ::testing::ElementsAre(9, 7, 9));
}

TEST(TensorDataset, RejectsWhatDoesNotFit) {
  EXPECT_THROW(TensorDataset({}), Error);
  EXPECT_THROW(TensorDataset({Tensor::scalar(1.0F)}), Error);
  EXPECT_THROW(TensorDataset({Tensor::zeros(DType::kF32, {3})}, {Tensor::zeros(DType::kF32, {4})}), Error);
  const TensorDataset dataset({Tensor::zeros(DType::kF32, {3})});
  const std::vector<int64_t> outside = {3};
  EXPECT_THROW(dataset.fetch(outside), Error);
}

TEST(BatchSampler, AWindowKeepsSamplesNearTheirPlace) {
  BatchSampler sampler(1000, {.batch_size = 1000, .seed = 5, .shuffle_window = 20});
  const std::vector<int64_t> first = take(sampler, 1);
  const std::vector<int64_t> second = take(sampler, 1);
  EXPECT_NE(first, second);
  std::vector<int64_t> all(1000);
  std::iota(all.begin(), all.end(), int64_t{0});
  EXPECT_THAT(first, ::testing::UnorderedElementsAreArray(all));
  for (int64_t i = 0; i < 1000; ++i) EXPECT_LT(first[static_cast<size_t>(i)] - i, 20);
  EXPECT_GT(std::count_if(all.begin(), all.end(), [&](int64_t i) { return first[static_cast<size_t>(i)] != i; }), 900);
}

TEST(BatchSampler, WorkersWithSamplesOfTheirOwnTakeEachOnceAnEpoch) {
  for (const int parts : {1, 2, 3, 7}) {
    for (const int64_t total : {5, 23, 40}) {
      int64_t all = 0;
      std::vector<BatchSampler> workers;
      for (int part = 0; part < parts; ++part) {
        const Share share{part, parts, total};
        const int64_t own = own_samples(share, 10);
        all += own;
        workers.emplace_back(own, SamplerOptions{.batch_size = 10, .seed = 7, .share = share});
        std::vector<int64_t> expected(static_cast<size_t>(own));
        std::iota(expected.begin(), expected.end(), int64_t{0});
        const auto taken = take(workers.back(), workers.back().batches_per_epoch());
        EXPECT_THAT(taken, ::testing::UnorderedElementsAreArray(expected));
      }
      EXPECT_EQ(all, total);
      // Of every batch, the parts make up the whole.
      for (int64_t batch = 0; batch < workers[0].batches_per_epoch(); ++batch) {
        const int64_t whole = workers[0].batch_samples();
        int64_t sum = 0;
        for (BatchSampler& worker : workers) sum += static_cast<int64_t>(worker.next().size());
        EXPECT_EQ(sum, whole);
      }
    }
  }
}

}  // namespace
}  // namespace thalweg::data
