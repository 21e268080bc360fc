// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/views.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "support/error_text.h"

namespace thalweg::data {
namespace {

using testing::error_text;

/// Samples begin, begin + 1, ...
DatasetPtr numbers(int64_t begin, int64_t count) {
  std::vector<int64_t> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), begin);
  return std::make_shared<TensorDataset>(std::vector{Tensor::from<int64_t>({count}, values)});
}

std::vector<int64_t> all_of(const Dataset& dataset) {
  std::vector<int64_t> indices(static_cast<size_t>(dataset.size()));
  std::iota(indices.begin(), indices.end(), int64_t{0});
  const Batch batch = dataset.fetch(indices);
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
  const auto from_first = std::count_if(values.begin(), values.end(), [](int64_t v) { return v < 100; });
  EXPECT_NEAR(static_cast<double>(from_first), 3000, 120);
  EXPECT_EQ(std::count(values.begin(), values.end(), 1000), 0);
  for (int64_t v = 0; v < 10; ++v) {
    EXPECT_NEAR(static_cast<double>(std::count(values.begin(), values.end(), v)), static_cast<double>(from_first) / 10,
                1);
  }
  EXPECT_EQ(all_of(Mix({numbers(0, 10), numbers(100, 5), numbers(1000, 1)}, {3, 1, 0}, 4000, 7)), values);
  EXPECT_EQ(error_text([] { Mix({numbers(0, 0)}, {1}, 3); }), "mix: dataset 0 is empty");
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
