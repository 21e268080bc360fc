// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/describe_table.h"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

#include <cmath>

#include "support/error_text.h"
#include "support/temporary_directory.h"

namespace thalweg::data {
namespace {

using testing::error_text;
using testing::TemporaryDirectory;
using testing::write_bytes;

TEST(DescribeTable, CsvColumns) {
  const TemporaryDirectory directory;
  write_bytes(directory / "t.csv", "n,x,name,day\n1,0.5,a,2024-01-02\n3,,b,2024-01-02\n5,0.5,a,2024-01-03\n");
  int64_t reported = 0;
  const TableStatistics table =
      describe_table(directory / "t.csv", TableFormat::kAuto, [&](int64_t done, int64_t /*all*/) { reported = done; });
  EXPECT_EQ(table.rows, 3);
  EXPECT_EQ(reported, 3);
  EXPECT_EQ(table.files, 1);
  ASSERT_EQ(table.columns.size(), 4U);
  const ColumnStatistics& n = table.columns[0];
  EXPECT_EQ(n.name, "n");
  EXPECT_EQ(n.type, "int64");
  ASSERT_TRUE(n.numbers.has_value());
  EXPECT_EQ(n.numbers->min, 1);
  EXPECT_EQ(n.numbers->max, 5);
  EXPECT_EQ(n.numbers->mean, 3);
  EXPECT_NEAR(n.numbers->deviation, std::sqrt(8.0 / 3), 1e-12);
  EXPECT_EQ(n.distinct, 3);
  EXPECT_EQ(table.columns[1].nulls, 1);
  EXPECT_EQ(table.columns[1].numbers->max, 0.5);
  EXPECT_EQ(table.columns[1].distinct, 1);
  EXPECT_EQ(table.columns[2].distinct, 2);
  EXPECT_FALSE(table.columns[2].numbers.has_value());
  EXPECT_EQ(table.columns[3].distinct, 2);
}

TEST(DescribeTable, ManyRowGroupsListsAndTruthValues) {
  const TemporaryDirectory directory;
  constexpr int64_t kRows = 150'000;
  arrow::Int64Builder number;
  arrow::BooleanBuilder truth;
  arrow::ListBuilder list(arrow::default_memory_pool(), std::make_shared<arrow::Int64Builder>());
  arrow::NullBuilder nothing;
  arrow::DoubleBuilder nan;
  for (int64_t i = 0; i < kRows; ++i) {
    ASSERT_TRUE(number.Append(1'000'000'000 + i).ok());
    ASSERT_TRUE(truth.Append(i % 4 == 0).ok());
    ASSERT_TRUE(list.Append().ok());
    ASSERT_TRUE(nothing.AppendNull().ok());
    ASSERT_TRUE(nan.Append(i == 7 ? std::nan("") : 1.0).ok());
  }
  const auto table =
      arrow::Table::Make(arrow::schema({arrow::field("number", arrow::int64()), arrow::field("truth", arrow::boolean()),
                                        arrow::field("list", arrow::list(arrow::int64())),
                                        arrow::field("nothing", arrow::null()), arrow::field("nan", arrow::float64())}),
                         {*number.Finish(), *truth.Finish(), *list.Finish(), *nothing.Finish(), *nan.Finish()});
  const auto file = *arrow::io::FileOutputStream::Open(directory / "t.parquet");
  ASSERT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), file, 10'000).ok());
  ASSERT_TRUE(file->Close().ok());
  int64_t promised = 0;
  const TableStatistics found = describe_table(directory / "t.parquet", TableFormat::kAuto,
                                               [&](int64_t /*done*/, int64_t all) { promised = all; });
  EXPECT_EQ(promised, kRows);
  EXPECT_EQ(found.rows, kRows);
  EXPECT_EQ(found.columns[0].distinct, kMostDistinct);  // and no more are counted
  EXPECT_NEAR(found.columns[0].numbers->deviation, std::sqrt((double{kRows} * kRows - 1) / 12), 1e-3);
  EXPECT_NEAR(found.columns[1].numbers->mean, 0.25, 1e-12);
  EXPECT_FALSE(found.columns[2].distinct.has_value());
  EXPECT_EQ(found.columns[3].nulls, kRows);
  EXPECT_EQ(found.columns[4].nans, 1);
  EXPECT_EQ(found.columns[4].numbers->deviation, 0);
}

TEST(DescribeTable, ARelativePathWillDo) {
  const TemporaryDirectory directory;
  write_bytes(directory / "t.csv", "n\n1\n");
  EXPECT_EQ(describe_table(std::filesystem::relative(directory / "t.csv")).rows, 1);
}

TEST(DescribeTable, ErrorsNameTheTable) {
  const TemporaryDirectory directory;
  write_bytes(directory / "bad.parquet", "no table");
  EXPECT_NE(error_text([&] { describe_table(directory / "bad.parquet"); }).find("bad.parquet"), std::string::npos);
}

}  // namespace
}  // namespace thalweg::data
