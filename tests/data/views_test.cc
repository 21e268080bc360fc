// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/views.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "support/error_text.h"
#include "thalweg/data/loader.h"

namespace thalweg::data {
namespace {

using testing::error_text;

/// Samples begin, begin + 1, ...
DatasetPtr numbers(int64_t begin, int64_t count) {
  std::vector<int64_t> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), begin);
  return std::make_shared<TensorDataset>(std::vector{Tensor::from<int64_t>({count}, values)});
}

std::vector<int64_t> all_of(const Dataset& dataset, int64_t epoch = 0) {
  std::vector<int64_t> indices(static_cast<size_t>(dataset.size()));
  std::iota(indices.begin(), indices.end(), int64_t{0});
  const Batch batch = dataset.fetch(indices, {.epoch = epoch});
  const int64_t* values = batch.inputs[0].data<int64_t>();
  return {values, values + batch.size()};
}

TEST(Views, ConcatenationKeepsTheOrderAndSkipsEmptyOnes) {
  const Concat all({numbers(0, 2), numbers(50, 0), numbers(10, 3)});
  EXPECT_EQ(all_of(all), (std::vector<int64_t>{0, 1, 10, 11, 12}));
  const std::vector<int64_t> mixed_up{4, 0, 2, 1};
  EXPECT_EQ(all.fetch(mixed_up).inputs[0].data<int64_t>()[0], 12);
  EXPECT_EQ(all.fetch(mixed_up).inputs[0].data<int64_t>()[3], 1);
}

TEST(Views, SourcesMustAgreeInType) {
  const DatasetPtr floats = std::make_shared<TensorDataset>(std::vector{Tensor::zeros(DType::kF32, {3})});
  EXPECT_EQ(error_text([&] {
              Concat({numbers(0, 2), floats});
            }),
            "concatenation: dataset 1 gives other types than dataset 0");
}

TEST(Views, ShardsCoverEverySampleOnce) {
  for (const int64_t world : {1, 2, 3, 7, 12}) {
    std::vector<int64_t> seen;
    for (int64_t rank = 0; rank < world; ++rank) {
      for (const int64_t value : all_of(Shard(numbers(0, 10), rank, world))) seen.push_back(value);
    }
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(seen, all_of(*numbers(0, 10))) << world;
  }
}

TEST(Views, ShardsOfEqualSize) {
  for (int64_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(Shard(numbers(0, 10), rank, 4, UnevenShards::kDrop).size(), 2);
    EXPECT_EQ(Shard(numbers(0, 10), rank, 4, UnevenShards::kPad).size(), 3);
  }
  EXPECT_EQ(all_of(Shard(numbers(0, 10), 3, 4, UnevenShards::kPad)), (std::vector<int64_t>{3, 7, 1}));
  EXPECT_EQ(all_of(Shard(numbers(0, 2), 3, 4, UnevenShards::kPad)), (std::vector<int64_t>{1}));
  EXPECT_EQ(error_text([] { Shard(numbers(0, 10), 4, 4); }), "shard: rank 4 is not in a world of 4");
}

TEST(Views, MixFollowsTheWeights) {
  const Mix mix({numbers(0, 10), numbers(100, 5), numbers(1000, 1)}, {3, 1, 0}, 4000, 7);
  const std::vector<int64_t> values = all_of(mix);
  for (int64_t v = 0; v < 10; ++v) EXPECT_EQ(std::count(values.begin(), values.end(), v), 300);
  for (int64_t v = 100; v < 105; ++v) EXPECT_EQ(std::count(values.begin(), values.end(), v), 200);
  EXPECT_EQ(std::count(values.begin(), values.end(), 1000), 0);
  EXPECT_EQ(all_of(Mix({numbers(0, 10), numbers(100, 5), numbers(1000, 1)}, {3, 1, 0}, 4000, 7)), values);
  EXPECT_NE(all_of(Mix({numbers(0, 10), numbers(100, 5), numbers(1000, 1)}, {3, 1, 0}, 4000, 8)), values);
  EXPECT_EQ(error_text([] { Mix({numbers(0, 0)}, {1}, 3); }), "mix: dataset 0 is empty");
}

TEST(Views, EpochsOfAMixGoOnWhereTheLastOneEnded) {
  // In each epoch 7.5 of the first source, 2.475 of the second and 0.025 of the third.
  const auto make = [] {
    return std::make_unique<Mix>(std::vector{numbers(0, 75), numbers(100, 20), numbers(1000, 2)},
                                 std::vector<double>{7.5, 2.475, 0.025}, 10, 3);
  };
  const auto mix = make();
  std::map<int64_t, int> seen;
  for (int64_t epoch = 0; epoch < 10; ++epoch) {
    for (const int64_t value : all_of(*mix, epoch)) ++seen[value];
  }
  for (int64_t v = 0; v < 75; ++v) EXPECT_EQ(seen[v], 1) << v << " in the first ten epochs";
  for (int64_t epoch = 10; epoch < 80; ++epoch) {
    for (const int64_t value : all_of(*mix, epoch)) ++seen[value];
  }
  for (int64_t v = 0; v < 75; ++v) EXPECT_EQ(seen[v], 8) << v;
  for (int64_t v = 100; v < 120; ++v) EXPECT_NEAR(seen[v], 9.9, 1.0) << v;
  for (int64_t v = 1000; v < 1002; ++v) EXPECT_EQ(seen[v], 1) << v << " of a source with little weight";
  // A run that is resumed in the middle asks for that epoch only.
  EXPECT_EQ(all_of(*make(), 63), all_of(*mix, 63));
  EXPECT_EQ(all_of(*mix, 0), all_of(*make(), 0)) << "an epoch that was long ago";
}

/// Sample i is i + 1000 * the epoch it is told.
class Epochs : public Dataset {
 public:
  int64_t size() const override { return 3; }
  std::vector<TensorType> input_types() const override { return {{DType::kI64, {kFree}}}; }
  std::vector<TensorType> target_types() const override { return {}; }
  void read(std::span<const int64_t> indices, const Draw& draw, const Batch& batch, int64_t row) const override {
    for (const int64_t index : indices) batch.inputs[0].data<int64_t>()[row++] = index + 1000 * draw.epoch;
  }
};

TEST(Views, WhatAMixRepeatsIsDrawnAnew) {
  const Mix mix({std::make_shared<Epochs>()}, {1}, 12);
  std::set<int64_t> seen;
  for (int64_t epoch = 0; epoch < 5; ++epoch) {
    for (const int64_t value : all_of(mix, epoch)) EXPECT_TRUE(seen.insert(value).second) << value;
  }
  EXPECT_EQ(*seen.rbegin(), 19002) << "the twentieth round over three samples";
}

TEST(Views, AMixDoesNotDependOnTheThreadsThatReadIt) {
  const Mix mix({numbers(0, 75), numbers(100, 20)}, {3, 1}, 32, 5);
  const auto order = [&](int threads) {
    Loader loader(mix, BatchSampler(mix.size(), {.batch_size = 5}),
                  {.depth = 4, .threads = threads, .max_batches = 40});
    std::vector<int64_t> values;
    for (LoadedBatch loaded; loader.next(loaded);) {
      const int64_t* begin = loaded.batch.inputs[0].data<int64_t>();
      values.insert(values.end(), begin, begin + loaded.batch.size());
    }
    return values;
  };
  EXPECT_EQ(order(4), order(1));
}

TEST(Views, SubsetsAndBadNumbers) {
  EXPECT_EQ(all_of(Subset::first(numbers(5, 3), 10)), (std::vector<int64_t>{5, 6, 7}));
  EXPECT_EQ(all_of(Subset(numbers(5, 3), {2, 2, 0})), (std::vector<int64_t>{7, 7, 5}));
  EXPECT_EQ(error_text([] { Subset(numbers(5, 3), {3}); }), "subset: the dataset of 3 samples has no sample 3");
  const Subset two = Subset::first(numbers(5, 3), 2);
  EXPECT_EQ(error_text([&] { two.fetch(std::vector<int64_t>{2}); }), "subset of 2 samples has no sample 2");
}

}  // namespace
}  // namespace thalweg::data
