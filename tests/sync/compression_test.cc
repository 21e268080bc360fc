// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "comm/local_group.h"
#include "sync/gradient_exchange.h"
#include "sync/workers.h"

namespace thalweg::testing {
namespace {

using sync::Compression;

class Compressed : public ::testing::TestWithParam<Compression> {};
INSTANTIATE_TEST_SUITE_P(All, Compressed, ::testing::Values(Compression::kBf16, Compression::kF16),
                         [](const auto& test) { return test.param == Compression::kBf16 ? "bf16" : "f16"; });

std::vector<NamedTensor> parameters_of(std::vector<NamedTensor> weights) {
  std::erase_if(weights, [](const NamedTensor& entry) { return entry.name == "seen"; });
  return weights;
}

TEST_P(Compressed, TrainingComesCloseToThatWithWholeGradients) {
  const data::TensorDataset data = two_layers_data(320);
  TrainOptions options = group_train_options();
  options.epochs = 6;
  for (const char* name : {"allreduce", "sharded", "ssp"}) {
    const auto whole = train_in_threads(2, {.name = name}, options, data);
    const auto half = train_in_threads(2, {.name = name, .compression = GetParam()}, options, data);
    EXPECT_EQ(difference(parameters_of(half[0]), parameters_of(half[1])), 0) << name;
    const double off = difference(parameters_of(half[0]), parameters_of(whole[0]));
    EXPECT_GT(off, 0) << name;
    EXPECT_LT(off, 2e-3) << name;
  }
}

/// A variable of one row of gradients.
std::vector<TrainedVariable> one_variable(size_t floats) { return {{0, floats, false, 1}}; }

void add_up(sync::GradientExchange& exchange, comm::Communicator& communicator, std::span<float> bucket) {
  exchange.begin(bucket);
  exchange.all_reduce(communicator, bucket).or_throw();
  exchange.end(bucket);
}

TEST_P(Compressed, WhatRoundingLosesIsAddedToTheNextSteps) {
  // One part in a hundred thousand of a large gradient is below what the wire can tell; over many steps it adds up.
  constexpr size_t kCount = 5000;
  constexpr int kSteps = 400;
  LocalGroup group(LocalGroup::one_host(2));
  group.run([&](comm::Communicator& communicator) {
    sync::GradientBuckets buckets(one_variable(kCount), 1);
    sync::GradientExchange exchange(GetParam());
    exchange.use(buckets);
    const std::span<float> bucket = buckets.all()[0];
    double sum = 0;
    for (int step = 0; step < kSteps; ++step) {
      std::fill(bucket.begin(), bucket.end(), 1.00001F);
      add_up(exchange, communicator, bucket);
      sum += bucket[kCount - 1];
    }
    EXPECT_NEAR(sum, 2 * kSteps * 1.00001, 0.02);
  });
}

TEST_P(Compressed, WhatIsNotFiniteDoesNotStay) {
  LocalGroup group(LocalGroup::one_host(2));
  group.run([&](comm::Communicator& communicator) {
    sync::GradientBuckets buckets(one_variable(10), 1);
    sync::GradientExchange exchange(GetParam());
    exchange.use(buckets);
    const std::span<float> bucket = buckets.all()[0];
    std::fill(bucket.begin(), bucket.end(), std::numeric_limits<float>::infinity());
    add_up(exchange, communicator, bucket);
    EXPECT_FALSE(std::isfinite(bucket[0]));
    std::fill(bucket.begin(), bucket.end(), 1.0F);
    add_up(exchange, communicator, bucket);
    EXPECT_EQ(bucket[0], 2.0F);
  });
}

}  // namespace
}  // namespace thalweg::testing
