// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Updates of single rows of a table.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <random>

#include "thalweg/optim.h"

namespace thalweg::optim {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Batch {
  std::vector<int64_t> rows;
  std::vector<float> gradients;
};

/// Half of the gradients fall on row 1, as those of a padding token do.
Batch skewed_batch(int64_t count, int64_t num_rows, int64_t row_size, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int64_t> row(0, num_rows - 1);
  std::normal_distribution<float> normal;
  Batch batch;
  for (int64_t i = 0; i < count; ++i) batch.rows.push_back(i % 2 == 0 ? 1 : row(generator));
  for (int64_t i = 0; i < count * row_size; ++i) batch.gradients.push_back(normal(generator));
  return batch;
}

TEST(SparseRows, RepeatedRowsAreAddedUpAndOthersUntouched) {
  Optimizer optimizer = sgd();
  optimizer.add_parameter("table", 8);
  std::vector<float> table(8, 1.0f);
  optimizer.begin_step(1.0);
  optimizer.update_rows(0, table, 2, std::vector<int64_t>{3, 0, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  EXPECT_THAT(table, ElementsAre(-2, -3, 1, 1, 1, 1, -5, -7));
}

TEST(SparseRows, NoRowsAtAll) {
  Optimizer optimizer = lamb();
  optimizer.add_parameter("table", 8);
  std::vector<float> table(8, 1.0f);
  optimizer.update_rows(0, table, 2, {}, {});
  EXPECT_EQ(table, std::vector<float>(8, 1.0f));
}

/// With every row present once, a sparse update is a dense one. Rows longer than one chunk, odd row
/// sizes, one row.
TEST(SparseRows, AllRowsOnceEqualsDense) {
  for (const auto& [num_rows, row_size] : {std::pair<int64_t, int64_t>{300, 200}, {7, 1300}, {1, 3}}) {
    for (const char* name : {"sgd", "adagrad", "rmsprop", "ftrl", "lars", "lamb"}) {
      Optimizer dense = make_optimizer(name);
      Optimizer sparse = make_optimizer(name);
      const int64_t size = num_rows * row_size;
      dense.add_parameter("table", size);
      sparse.add_parameter("table", size);
      std::mt19937 generator(1);
      std::normal_distribution<float> normal;
      std::vector<float> value(static_cast<size_t>(size)), gradient(value.size());
      for (float& x : value) x = normal(generator);
      for (float& x : gradient) x = normal(generator);
      std::vector<int64_t> rows;
      for (int64_t r = num_rows; r-- > 0;) rows.push_back(r);
      std::vector<float> reversed;
      for (int64_t r : rows) {
        reversed.insert(reversed.end(), gradient.begin() + r * row_size, gradient.begin() + (r + 1) * row_size);
      }
      std::vector<float> sparse_value = value;
      dense.update(0, value, gradient);
      sparse.update_rows(0, sparse_value, row_size, rows, reversed);
      for (size_t i = 0; i < value.size(); ++i) {
        ASSERT_NEAR(value[i], sparse_value[i], 1e-6f) << name << " element " << i;
      }
    }
  }
}

TEST(SparseRows, FrequentRowsAreSummedInOrderWhateverTheThreads) {
  const int64_t num_rows = 5000, row_size = 100, count = 4000;
  const Batch batch = skewed_batch(count, num_rows, row_size, 4);
  std::vector<float> expected(static_cast<size_t>(num_rows * row_size), 0.0f);
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < row_size; ++j) {
      expected[static_cast<size_t>(batch.rows[static_cast<size_t>(i)] * row_size + j)] +=
          batch.gradients[static_cast<size_t>(i * row_size + j)];
    }
  }
  const int threads_before = omp_get_max_threads();
  for (const int threads : {1, 2, 5}) {
    omp_set_num_threads(threads);
    Optimizer optimizer = sgd();
    optimizer.add_parameter("table", num_rows * row_size);
    std::vector<float> table(expected.size(), 0.0f);
    optimizer.begin_step(1.0);
    optimizer.update_rows(0, table, row_size, batch.rows, batch.gradients);
    for (size_t i = 0; i < table.size(); ++i) ASSERT_EQ(-table[i], expected[i]) << i;
  }
  omp_set_num_threads(threads_before);
}

TEST(SparseRows, TableWithMoreRowsThanOneDigitOfTheSort) {
  const int64_t num_rows = 5'000'000;
  Optimizer optimizer = sgd();
  optimizer.add_parameter("table", num_rows);
  std::vector<float> table(static_cast<size_t>(num_rows), 0.0f);
  const std::vector<int64_t> rows = {4'999'999, 2048, 0, 4'194'304, 2048, 2047};
  optimizer.begin_step(1.0);
  optimizer.update_rows(0, table, 1, rows, std::vector<float>{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(table[4'999'999], -1.0f);
  EXPECT_EQ(table[2048], -7.0f);
  EXPECT_EQ(table[0], -3.0f);
  EXPECT_EQ(table[4'194'304], -4.0f);
  EXPECT_EQ(table[2047], -6.0f);
}

TEST(SparseRows, ErrorsNameTableAndRow) {
  Optimizer optimizer = adam();
  optimizer.add_parameter("embedding.weight", 8);
  std::vector<float> table(8, 1.0f);
  const auto message = [&](int64_t row_size, std::vector<int64_t> rows, size_t gradients) {
    try {
      optimizer.update_rows(0, table, row_size, rows, std::vector<float>(gradients));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(message(2, {0, 4}, 4), AllOf(HasSubstr("embedding.weight"), HasSubstr("gradient 1"), HasSubstr("row 4")));
  EXPECT_THAT(message(2, {-1}, 2), HasSubstr("row -1"));
  EXPECT_THAT(message(3, {0}, 3), HasSubstr("no rows of 3"));
  EXPECT_THAT(message(0, {0}, 0), HasSubstr("no rows of 0"));
  EXPECT_THAT(message(2, {0}, 3), HasSubstr("1 rows of 2 come with 3"));
  EXPECT_EQ(table, std::vector<float>(8, 1.0f));
  EXPECT_EQ(optimizer.updates(0), 0);
}

}  // namespace
}  // namespace thalweg::optim
