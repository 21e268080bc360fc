// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "comm/local_group.h"
#include "sync/gradient_exchange.h"
#include "sync/plain_trainee.h"
#include "sync/sparse_exchange.h"
#include "sync/workers.h"

namespace thalweg::testing {
namespace {

class Compressed : public ::testing::TestWithParam<std::string> {
 protected:
  static DType dtype() { return GetParam() == "bf16" ? DType::kBF16 : DType::kF16; }
};
INSTANTIATE_TEST_SUITE_P(All, Compressed, ::testing::Values("bf16", "f16"),
                         [](const auto& test) { return test.param; });

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
  exchange.end(bucket).or_throw();
  exchange.compressor()->commit();
}

TEST_P(Compressed, WhatRoundingLosesIsAddedToTheNextSteps) {
  // One part in a hundred thousand of a large gradient is below what the wire can tell; over many steps it adds up.
  constexpr size_t kCount = 5000;
  constexpr int kSteps = 400;
  LocalGroup group(LocalGroup::one_host(2));
  group.run([&](comm::Communicator& communicator) {
    sync::GradientBuckets buckets(one_variable(kCount), 1);
    const auto exchange = sync::GradientExchange::make(sync::make_compressor(GetParam(), {}));
    const PlainTrainee names({1});
    exchange->use(buckets, names.variables());
    const std::span<float> bucket = buckets.all()[0];
    double sum = 0;
    for (int step = 0; step < kSteps; ++step) {
      std::fill(bucket.begin(), bucket.end(), 1.00001F);
      add_up(*exchange, communicator, bucket);
      sum += bucket[kCount - 1];
    }
    EXPECT_NEAR(sum, 2 * kSteps * 1.00001, 0.02);
  });
}

/// Gradients of some rows of a table of 100 rows.
std::vector<TrainedVariable> one_table(int64_t row_size) {
  return {{0, static_cast<size_t>(100 * row_size), true, row_size}};
}

TEST_P(Compressed, WhatIsLostOfARowIsAddedWhenItComesAgain) {
  constexpr int kSteps = 400;
  LocalGroup group(LocalGroup::one_host(2));
  group.run([&](comm::Communicator& communicator) {
    sync::GradientBuckets buckets(one_table(3), 1);
    sync::SparseExchange exchange(dtype());
    const PlainTrainee names({1});
    exchange.use(buckets, names.variables());
    sync::SparseRows& rows = buckets.sparse()[0];
    double sum = 0;
    for (int step = 0; step < kSteps; ++step) {
      // Row 7 comes at every other step, and from one of the workers only.
      rows.indices = {communicator.rank() == 0 && step % 2 == 0 ? 7 : 50 + step % 3};
      rows.rows = {1.00001F, 1.00001F, 1.00001F};
      exchange.begin(rows);
      exchange.gather(communicator, rows).or_throw();
      exchange.commit();
      for (size_t i = 0; i < rows.indices.size(); ++i) {
        if (rows.indices[i] == 7) sum += rows.rows[3 * i + 2];
      }
    }
    EXPECT_NEAR(sum, kSteps / 2 * 1.00001, 0.01);
  });
}

TEST(SparseExchange, SendsARowOnceFromEachWorker) {
  LocalGroup group(LocalGroup::one_host(3));
  group.run([&](comm::Communicator& communicator) {
    sync::GradientBuckets buckets(one_table(2), 1);
    sync::SparseExchange exchange(DType::kF32);
    const PlainTrainee names({1});
    exchange.use(buckets, names.variables());
    sync::SparseRows& rows = buckets.sparse()[0];
    if (communicator.rank() == 0) rows.indices = {9, 4, 9, 9};
    if (communicator.rank() == 2) rows.indices = {4};
    for (size_t i = 0; i < 2 * rows.indices.size(); ++i) rows.rows.push_back(static_cast<float>(i));
    exchange.begin(rows);
    exchange.gather(communicator, rows).or_throw();
    EXPECT_EQ(rows.indices, (std::vector<int64_t>{4, 9, 4}));
    EXPECT_EQ(rows.rows, (std::vector<float>{2, 3, 0 + 4 + 6, 1 + 5 + 7, 0, 1}));
  });
}

TEST_P(Compressed, TablesComeCloseToThoseWithWholeGradients) {
  Tensor words = Tensor(DType::kI64, {96, 3});
  for (int64_t i = 0; i < words.num_elements(); ++i) words.data<int64_t>()[i] = i * i % 29;
  const data::TensorDataset data({words}, {random_tensor(DType::kF32, {96, 2}, 8)});
  const auto train = [&](const char* name, const std::string& compression) {
    const comm::Rendezvous rendezvous(quiet_rendezvous(2, 2));
    std::vector<std::future<std::vector<NamedTensor>>> pending;
    for (int i = 0; i < 2; ++i) {
      pending.push_back(std::async(std::launch::async, [&] {
        Model model(table_and_layer());
        TrainOptions options = group_train_options();
        options.batch_size = 16;
        options.scheme = sync::make_scheme({.name = name, .compression = compression},
                                           comm::Group::join(member_of(rendezvous.address())));
        Trainer(model, squared_error(), optim::sgd(), options).fit(data);
        return weights_of(model);
      }));
    }
    pending[1].wait();
    return pending[0].get();
  };
  for (const char* name : {"allreduce", "sharded", "ssp"}) {
    const double off = difference(train(name, GetParam()), train(name, "none"));
    EXPECT_GT(off, 0) << name;
    EXPECT_LT(off, 2e-3) << name;
  }
}

TEST_P(Compressed, WhatIsNotFiniteDoesNotStay) {
  LocalGroup group(LocalGroup::one_host(2));
  group.run([&](comm::Communicator& communicator) {
    sync::GradientBuckets buckets(one_variable(10), 1);
    const auto exchange = sync::GradientExchange::make(sync::make_compressor(GetParam(), {}));
    const PlainTrainee names({1});
    exchange->use(buckets, names.variables());
    const std::span<float> bucket = buckets.all()[0];
    std::fill(bucket.begin(), bucket.end(), std::numeric_limits<float>::infinity());
    add_up(*exchange, communicator, bucket);
    EXPECT_FALSE(std::isfinite(bucket[0]));
    std::fill(bucket.begin(), bucket.end(), 1.0F);
    add_up(*exchange, communicator, bucket);
    EXPECT_EQ(bucket[0], 2.0F);
  });
}

}  // namespace
}  // namespace thalweg::testing
