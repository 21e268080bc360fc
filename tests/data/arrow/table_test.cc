// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/table.h"

#include <arrow/api.h>
#include <arrow/compute/cast.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

#include <cmath>
#include <filesystem>
#include <numeric>
#include <sstream>

#include "support/error_text.h"
#include "support/temporary_directory.h"

namespace thalweg::data {
namespace {

using testing::error_text;
using testing::TemporaryDirectory;
using testing::write_bytes;

/// Columns a = row (i64), b = row / 2 (f64, null where asked), c = -row (f32), name = "even" or "odd".
std::shared_ptr<arrow::Table> numbers(int64_t begin, int64_t rows, int64_t null_row = -1) {
  arrow::Int64Builder a;
  arrow::DoubleBuilder b;
  arrow::FloatBuilder c;
  arrow::StringBuilder name;
  for (int64_t i = begin; i < begin + rows; ++i) {
    EXPECT_TRUE(a.Append(i).ok());
    EXPECT_TRUE((i == null_row ? b.AppendNull() : b.Append(static_cast<double>(i) / 2)).ok());
    EXPECT_TRUE(c.Append(-static_cast<float>(i)).ok());
    EXPECT_TRUE(name.Append(i % 2 == 0 ? "even" : "odd").ok());
  }
  const auto schema = arrow::schema({arrow::field("a", arrow::int64()), arrow::field("b", arrow::float64()),
                                     arrow::field("c", arrow::float32()), arrow::field("name", arrow::utf8())});
  return arrow::Table::Make(schema, {*a.Finish(), *b.Finish(), *c.Finish(), *name.Finish()});
}

void write_parquet(const arrow::Table& table, const std::string& path, int64_t rows_per_group) {
  const auto file = *arrow::io::FileOutputStream::Open(path);
  ASSERT_TRUE(parquet::arrow::WriteTable(table, arrow::default_memory_pool(), file, rows_per_group).ok());
  ASSERT_TRUE(file->Close().ok());
}

void write_arrow(const arrow::Table& table, const std::string& path) {
  const auto file = *arrow::io::FileOutputStream::Open(path);
  const auto writer = *arrow::ipc::MakeFileWriter(file, table.schema());
  ASSERT_TRUE(writer->WriteTable(table, 4).ok());
  ASSERT_TRUE(writer->Close().ok());
  ASSERT_TRUE(file->Close().ok());
}

std::vector<float> column_of(const Dataset& dataset, size_t column) {
  std::vector<int64_t> all(static_cast<size_t>(dataset.size()));
  std::iota(all.begin(), all.end(), int64_t{0});
  const Batch batch = dataset.fetch(all);
  const int64_t width = batch.inputs[0].shape()[1];
  std::vector<float> result;
  for (int64_t i = 0; i < batch.size(); ++i) {
    result.push_back(batch.inputs[0].data<float>()[i * width + static_cast<int64_t>(column)]);
  }
  return result;
}

TableOptions floats(std::vector<std::string> columns) { return {.inputs = {{std::move(columns)}}}; }

class TableTest : public ::testing::Test {
 protected:
  TemporaryDirectory directory_;
};

TEST_F(TableTest, ParquetRowGroupsBecomeRows) {
  write_parquet(*numbers(0, 1000), directory_ / "t.parquet", 64);
  TableOptions options = floats({"c", "a", "b"});
  options.targets = {{{"a"}, DType::kI64, true}};
  const Table table(directory_ / "t.parquet", options);
  EXPECT_EQ(table.size(), 1000);
  EXPECT_EQ(table.input_types()[0], (TensorType{DType::kF32, {kFree, 3}}));
  EXPECT_EQ(table.target_types()[0], (TensorType{DType::kI64, {kFree}}));
  const Batch batch = table.fetch(std::vector<int64_t>{999, 0, 64, 63, 500});
  const std::vector<float> expected = {-999, 999, 499.5, 0, 0, 0, -64, 64, 32, -63, 63, 31.5, -500, 500, 250};
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), batch.inputs[0].data<float>()));
  EXPECT_EQ(batch.targets[0].data<int64_t>()[3], 63);
}

/// Columns c0, c1, ... of alternating types; row r of column c holds 1000 c + r.
std::shared_ptr<arrow::Table> wide_table(int columns, int64_t rows) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (int c = 0; c < columns; ++c) {
    const std::shared_ptr<arrow::DataType> types[] = {arrow::float32(), arrow::float64(), arrow::int32(),
                                                      arrow::int64()};
    arrow::Int64Builder values;
    for (int64_t r = 0; r < rows; ++r) EXPECT_TRUE(values.Append(1000 * c + r % 1000).ok());
    fields.push_back(arrow::field("c" + std::to_string(c), types[c % 4], c % 3 != 0));
    arrays.push_back(arrow::compute::Cast(**values.Finish(), types[c % 4]).ValueOrDie());
  }
  return arrow::Table::Make(arrow::schema(fields), arrays);
}

TEST_F(TableTest, ColumnsOfAllTypesAndEncodingsBecomeRows) {
  constexpr int kColumns = 75;
  constexpr int64_t kRows = 3001;
  const auto table = wide_table(kColumns, kRows);
  TableOptions options;
  options.inputs.resize(1);
  for (int c = 0; c < kColumns; ++c) options.inputs[0].columns.push_back("c" + std::to_string(c));
  options.targets = {{{"c2"}, DType::kI64, true}, {{"c3", "c2"}, DType::kI32}};
  for (const bool dictionary : {true, false}) {
    // Without statistics nobody knows that there are no nulls, and Arrow's scanner reads it.
    for (const bool statistics : {true, false}) {
      parquet::WriterProperties::Builder properties;
      properties.data_pagesize(2000);
      properties.write_batch_size(100);
      if (!dictionary) properties.disable_dictionary();
      if (!statistics) properties.disable_statistics();
      const auto file = *arrow::io::FileOutputStream::Open(directory_ / "t.parquet");
      ASSERT_TRUE(
          parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), file, 2000, properties.build()).ok());
      ASSERT_TRUE(file->Close().ok());
      const Table rows(directory_ / "t.parquet", options);
      std::vector<int64_t> all(static_cast<size_t>(rows.size()));
      std::iota(all.begin(), all.end(), int64_t{0});
      const Batch batch = rows.fetch(all);
      ASSERT_EQ(batch.size(), kRows);
      for (int64_t r = 0; r < kRows; ++r) {
        for (int64_t c = 0; c < kColumns; ++c) {
          ASSERT_EQ(batch.inputs[0].data<float>()[r * kColumns + c], static_cast<float>(1000 * c + r % 1000));
        }
        ASSERT_EQ(batch.targets[0].data<int64_t>()[r], 2000 + r % 1000);
        ASSERT_EQ(batch.targets[1].data<int32_t>()[2 * r], 3000 + r % 1000);
      }
    }
  }
}

TEST_F(TableTest, LendsRowsThatLieTogether) {
  write_parquet(*numbers(0, 100), directory_ / "t.parquet", 64);
  TableOptions options = floats({"a", "c"});
  options.targets = {{{"a"}, DType::kI64, true}};
  auto table = std::make_unique<Table>(directory_ / "t.parquet", options);
  std::optional<Batch> lent = table->lend(std::vector<int64_t>{16, 17, 18});
  ASSERT_TRUE(lent.has_value());
  EXPECT_EQ(lent->targets[0].type(), (TensorType{DType::kI64, {3}}));
  EXPECT_FALSE(table->lend(std::vector<int64_t>{63, 64})) << "of two row groups";
  EXPECT_FALSE(table->lend(std::vector<int64_t>{16, 18})) << "with a gap";
  EXPECT_FALSE(table->lend(std::vector<int64_t>{1, 2})) << "not aligned";
  EXPECT_FALSE(table->lend(std::vector<int64_t>{99, 100})) << "past the end";
  table.reset();
  EXPECT_EQ(lent->inputs[0].data<float>()[2], 17.0F) << "what is lent stays";
  EXPECT_EQ(lent->targets[0].data<int64_t>()[2], 18);
}

TEST_F(TableTest, KeepsNoMoreThanTheBudgetAndStillReadsAll) {
  write_parquet(*numbers(0, 4096), directory_ / "t.parquet", 128);
  TableOptions options = floats({"a"});
  options.memory_bytes = 1024;  // two row groups
  const Table table(directory_ / "t.parquet", options);
  Loader loader(table, BatchSampler(table.size(), {.batch_size = 100, .seed = 2, .shuffle_window = 300}),
                {.threads = 3, .max_batches = 41});
  LoadedBatch loaded;
  double sum = 0;
  while (loader.next(loaded)) {
    for (int64_t i = 0; i < loaded.batch.size(); ++i) sum += loaded.batch.inputs[0].data<float>()[i];
  }
  EXPECT_EQ(sum, 4096.0 * 4095.0 / 2.0) << "every row once";
}

TEST_F(TableTest, AFilterLeavesRowsOut) {
  write_parquet(*numbers(0, 100), directory_ / "t.parquet", 16);
  TableOptions options = floats({"a"});
  options.filter = {{"a", Condition::Kind::kGreaterEqual, int64_t{90}}, {"name", Condition::Kind::kEqual, "odd"}};
  EXPECT_EQ(column_of(Table(directory_ / "t.parquet", options), 0), (std::vector<float>{91, 93, 95, 97, 99}));
}

TEST_F(TableTest, ADirectoryIsItsFilesInOrder) {
  std::filesystem::create_directories(directory_ / "part=2");
  write_parquet(*numbers(3, 2), directory_ / "part=2/x.parquet", 10);
  write_parquet(*numbers(0, 3), directory_ / "a.parquet", 10);
  write_bytes(directory_ / "_SUCCESS", "");
  EXPECT_EQ(column_of(Table(directory_.path().string(), floats({"a"})), 0), (std::vector<float>{0, 1, 2, 3, 4}));
  EXPECT_EQ(column_of(Table("file://" + directory_.path().string(), floats({"a"})), 0).size(), 5U);
}

TEST_F(TableTest, FilesOfSeveralFormatsAreAnErrorUnlessOneIsChosen) {
  const std::string path = directory_.path().string();
  write_parquet(*numbers(0, 3), directory_ / "a.parquet", 10);
  write_bytes(directory_ / "b.csv", "a\n7\n8\n");
  write_bytes(directory_ / "notes.txt", "hello");
  const std::string expected = path +
                               ": holds tables of several formats, such as a.parquet and b.csv: put those of each "
                               "format into a folder of their own, or say which format to read (`format` of Table)";
  EXPECT_EQ(error_text([&] { Table(path, floats({"a"})); }), expected);
  EXPECT_EQ(error_text([&] { inspect_table(path); }), expected);
  TableOptions chosen = floats({"a"});
  chosen.format = TableFormat::kCsv;
  EXPECT_EQ(column_of(Table(path, chosen), 0), (std::vector<float>{7, 8}));
}

TEST_F(TableTest, ArrowFiles) {
  write_arrow(*numbers(0, 10), directory_ / "t.arrow");
  EXPECT_EQ(column_of(Table(directory_ / "t.arrow", floats({"b", "a"})), 1)[9], 9.0F);
}

/// A column x of lists [row, row + 0.5, row + 0.25], and a column a = row. A list and an element are null where asked.
std::shared_ptr<arrow::Table> lists(int64_t rows, int64_t null_list = -1, int64_t null_element = -1) {
  const auto values = std::make_shared<arrow::DoubleBuilder>();
  arrow::FixedSizeListBuilder x(arrow::default_memory_pool(), values, 3);
  arrow::Int64Builder a;
  for (int64_t i = 0; i < rows; ++i) {
    EXPECT_TRUE(a.Append(i).ok());
    EXPECT_TRUE((i == null_list ? x.AppendNull() : x.Append()).ok());
    if (i == null_list) continue;
    EXPECT_TRUE((i == null_element ? values->AppendNull() : values->Append(static_cast<double>(i))).ok());
    EXPECT_TRUE(values->Append(static_cast<double>(i) + 0.5).ok());
    EXPECT_TRUE(values->Append(static_cast<double>(i) + 0.25).ok());
  }
  const auto schema = arrow::schema(
      {arrow::field("x", arrow::fixed_size_list(arrow::float64(), 3)), arrow::field("a", arrow::int64())});
  return arrow::Table::Make(schema, {*x.Finish(), *a.Finish()});
}

TEST_F(TableTest, ListsOfOneLengthAreRows) {
  write_parquet(*lists(100), directory_ / "t.parquet", 32);
  write_arrow(*lists(100), directory_ / "t.arrow");
  for (const char* name : {"t.parquet", "t.arrow"}) {
    TableOptions options = floats({"x"});
    options.targets = {{{"a"}, DType::kI64, true}};
    const Table table(directory_ / name, options);
    EXPECT_EQ(table.input_types()[0], (TensorType{DType::kF32, {kFree, 3}})) << name;
    const Batch batch = table.fetch(std::vector<int64_t>{99, 0, 40});
    const std::vector<float> expected = {99, 99.5, 99.25, 0, 0.5, 0.25, 40, 40.5, 40.25};
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), batch.inputs[0].data<float>())) << name;
    EXPECT_EQ(batch.targets[0].data<int64_t>()[2], 40) << name;
  }
}

TEST_F(TableTest, NullsInListsFailWithTheRowOrAreFilled) {
  write_arrow(*lists(10, 7), directory_ / "list.arrow");
  write_arrow(*lists(10, -1, 4), directory_ / "element.arrow");
  for (const auto& [name, row] : {std::pair("list.arrow", 7), {"element.arrow", 4}}) {
    TableOptions options = floats({"x"});
    EXPECT_NE(error_text([&, file = name] {
                Table(directory_ / file, options);
              }).find("column 'x' is null in row " + std::to_string(row)),
              std::string::npos);
    options.nulls = Nulls::kFill;
    options.fill = -1;
    const Table table(directory_ / name, options);
    EXPECT_EQ(column_of(table, 0)[static_cast<size_t>(row)], -1) << name;
    EXPECT_EQ(column_of(table, 2)[9], 9.25F) << name;
  }
  EXPECT_NE(error_text([&] {
              Table(directory_ / "list.arrow", floats({"a", "x"}));
            }).find("tensor of its own"),
            std::string::npos);
}

/// Columns a (i64) and b (f64) of rows 0, 1, ... with one value each that is another, and lists x of two such b.
std::shared_ptr<arrow::Table> almost_whole(int64_t rows, int64_t odd_row, int64_t odd_a, double odd_b) {
  arrow::Int64Builder a;
  arrow::DoubleBuilder b;
  const auto elements = std::make_shared<arrow::DoubleBuilder>();
  arrow::FixedSizeListBuilder x(arrow::default_memory_pool(), elements, 2);
  for (int64_t i = 0; i < rows; ++i) {
    const double value = i == odd_row ? odd_b : static_cast<double>(i);
    EXPECT_TRUE(a.Append(i == odd_row ? odd_a : i).ok() && b.Append(value).ok());
    EXPECT_TRUE((i == 1 ? x.AppendNull() : x.Append()).ok());
    EXPECT_TRUE(i == 1 || (elements->Append(1).ok() && elements->Append(value).ok()));
  }
  const auto schema =
      arrow::schema({arrow::field("a", arrow::int64(), false), arrow::field("b", arrow::float64(), false),
                     arrow::field("x", arrow::fixed_size_list(arrow::float64(), 2))});
  return arrow::Table::Make(schema, {*a.Finish(), *b.Finish(), *x.Finish()});
}

TEST_F(TableTest, WhatAnIntegerCannotHoldIsAnErrorThatNamesColumnAndRow) {
  constexpr int64_t kRows = 300, kOdd = 217;
  write_parquet(*almost_whole(kRows, kOdd, int64_t{1} << 40, 2.5), directory_ / "t.parquet", 100);
  write_arrow(*almost_whole(kRows, kOdd, int64_t{1} << 40, 2.5), directory_ / "t.arrow");
  write_parquet(*almost_whole(kRows, kOdd, 7, std::nan("")), directory_ / "nan.parquet", 100);
  std::vector<int64_t> all(kRows);
  std::iota(all.begin(), all.end(), int64_t{0});
  const auto failure = [&](const std::string& file, const std::string& column, DType dtype) {
    TableOptions options{.inputs = {{{column}, dtype}}};
    if (column == "x") {
      options.nulls = Nulls::kFill;
      options.fill = -1;
    }
    const std::string text = error_text([&] { Table(directory_ / file, options).fetch(all); });
    EXPECT_TRUE(text == "no error" || text.rfind(directory_ / file, 0) == 0) << text;
    return text;
  };
  const auto says = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  for (const char* file : {"t.parquet", "t.arrow"}) {
    EXPECT_TRUE(
        says(failure(file, "a", DType::kI32), "column 'a' holds 1099511627776 in row 217, which i32 cannot hold"))
        << failure(file, "a", DType::kI32);
    EXPECT_TRUE(says(failure(file, "b", DType::kI64), "column 'b' holds 2.5 in row 217, which i64 cannot hold"));
    EXPECT_TRUE(says(failure(file, "x", DType::kI64), "column 'x' holds 2.5 in row 217, which i64 cannot hold"));
    EXPECT_EQ(failure(file, "a", DType::kI64), "no error");
    EXPECT_EQ(failure(file, "a", DType::kF32), "no error");
    EXPECT_EQ(failure(file, "b", DType::kF32), "no error");
  }
  EXPECT_TRUE(says(failure("nan.parquet", "b", DType::kI32), "column 'b' holds nan in row 217"));
  EXPECT_EQ(failure("nan.parquet", "a", DType::kI32), "no error");
}

TEST_F(TableTest, NullsAreNotFilledWithWhatTheTypeCannotHold) {
  write_parquet(*numbers(0, 10, 3), directory_ / "t.parquet", 10);
  TableOptions options{.inputs = {{{"a"}, DType::kI64}}, .nulls = Nulls::kFill, .fill = 0.5};
  EXPECT_NE(error_text([&] { Table(directory_ / "t.parquet", options); }).find("cannot be filled with 0.5"),
            std::string::npos);
  options.inputs[0].dtype = DType::kF32;
  EXPECT_EQ(Table(directory_ / "t.parquet", options).size(), 10);
}

TEST_F(TableTest, ListsOfSeveralLengthsAreAnError) {
  arrow::ListBuilder x(arrow::default_memory_pool(), std::make_shared<arrow::DoubleBuilder>());
  for (int64_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(x.Append().ok());
    for (int64_t j = 0; j < (i == 2 ? 3 : 2); ++j) {
      ASSERT_TRUE(static_cast<arrow::DoubleBuilder*>(x.value_builder())->Append(0.5).ok());
    }
  }
  const auto schema = arrow::schema({arrow::field("x", arrow::list(arrow::float64()))});
  write_arrow(*arrow::Table::Make(schema, {*x.Finish()}), directory_ / "t.arrow");
  EXPECT_NE(error_text([&] { Table(directory_ / "t.arrow", floats({"x"})); }).find("'x', lists of 2 elements"),
            std::string::npos);
}

TEST_F(TableTest, CsvIsParsedAsTheTypeOfTheTensor) {
  write_bytes(directory_ / "t.csv", "x,y,word\n1,2.5,a\n3,4,b\n-7,1e3,c\n");
  TableOptions options = floats({"y", "x"});
  options.targets = {{{"x"}, DType::kI64, true}};
  const Table table(directory_ / "t.csv", options);
  EXPECT_EQ(column_of(table, 0), (std::vector<float>{2.5, 4, 1000}));
  EXPECT_EQ(column_of(table, 1), (std::vector<float>{1, 3, -7}));
  write_bytes(directory_ / "t.tsv", "x\ty\n1\t2\n");
  EXPECT_EQ(column_of(Table(directory_ / "t.tsv", floats({"y"})), 0), (std::vector<float>{2}));
}

TEST_F(TableTest, PlainNumbersAndOtherCsvReadTheSame) {
  // The second file is the first with a quoted word, which leaves it to Arrow's parser.
  const std::string numbers = "0.1,1e-3\n-2.5,123456789012345678901\r\n+3,0.000000000000000000000000125\n.5,-0\n7.,1E5";
  write_bytes(directory_ / "plain.csv", "x,y\n" + numbers);
  std::string quoted = "word,x,y\n";
  std::istringstream lines(numbers);
  for (std::string line; std::getline(lines, line);) quoted += "\"w\"," + line + "\n";
  write_bytes(directory_ / "quoted.csv", quoted);
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    const TableOptions options{.inputs = {{{"y", "x"}, dtype}}, .threads = 3};
    const Table plain(directory_ / "plain.csv", options);
    const Table general(directory_ / "quoted.csv", options);
    ASSERT_EQ(plain.size(), 5);
    const std::vector<int64_t> all = {0, 1, 2, 3, 4};
    const Tensor a = plain.fetch(all).inputs[0].to(DType::kF64);
    const Tensor b = general.fetch(all).inputs[0].to(DType::kF64);
    for (int64_t i = 0; i < 10; ++i) EXPECT_EQ(a.data<double>()[i], b.data<double>()[i]) << i;
  }
  write_bytes(directory_ / "word.csv", "x,y\n1,2\n3,four\n");
  EXPECT_NE(error_text([&] { Table(directory_ / "word.csv", floats({"y"})); }).find("four"), std::string::npos);
}

TEST_F(TableTest, LinesAreWholeWhereverTheFileIsCut) {
  // Lines of up to a few parts' length (csv_text.cc), in the form of each system.
  for (const char* line_end : {"\n", "\r\n"}) {
    std::string text = std::string("\xEF\xBB\xBFskipped,x,n,y") + line_end;
    const int64_t rows = 4000;
    for (int64_t i = 0; i < rows; ++i) {
      text += std::string(static_cast<size_t>(i % 400 == 7 ? 600000 : i % 311), 's') + "," + std::to_string(i) +
              ".25," + std::to_string(-i) + "," + std::to_string(i) + line_end;
    }
    text.resize(text.size() - std::string(line_end).size());
    write_bytes(directory_ / "t.csv", text);
    for (const int threads : {1, 3}) {
      const Table table(directory_ / "t.csv",
                        {.inputs = {{{"x", "y"}}}, .targets = {{{"n"}, DType::kI32, true}}, .threads = threads});
      ASSERT_EQ(table.size(), rows);
      std::vector<int64_t> all(static_cast<size_t>(rows));
      std::iota(all.begin(), all.end(), int64_t{0});
      const Batch batch = table.fetch(all);
      for (int64_t i = 0; i < rows; ++i) {
        ASSERT_EQ(batch.inputs[0].data<float>()[2 * i], static_cast<float>(i) + 0.25F);
        ASSERT_EQ(batch.inputs[0].data<float>()[2 * i + 1], static_cast<float>(i));
        ASSERT_EQ(batch.targets[0].data<int32_t>()[i], -i);
      }
    }
  }
}

TEST_F(TableTest, RaggedCsvRowsFailOrAreCounted) {
  write_bytes(directory_ / "t.csv", "x,y\n1,2\n3\n5,6,7\n8,9\n");
  TableOptions options = floats({"y"});
  const std::string text = error_text([&] { Table(directory_ / "t.csv", options); });
  EXPECT_EQ(text.rfind(directory_ / "t.csv", 0), 0U) << text;
  EXPECT_NE(text.find("Expected 2 columns, got 1"), std::string::npos) << text;
  options.bad_rows = BadSample::kSkip;
  const Table table(directory_ / "t.csv", options);
  EXPECT_EQ(column_of(table, 0), (std::vector<float>{2, 9}));
  EXPECT_GE(table.skipped_rows(), 2);
}

TEST_F(TableTest, NullsFailWithColumnAndRowOrAreFilled) {
  write_parquet(*numbers(0, 100, 77), directory_ / "t.parquet", 10);
  TableOptions options = floats({"b"});
  const Table failing(directory_ / "t.parquet", options);
  EXPECT_EQ(error_text([&] { column_of(failing, 0); }),
            directory_ / "t.parquet" +
                ": column 'b' is null in row 77; say what to fill nulls with (--fill, `fill` in "
                "Python, TableOptions::nulls), or leave such rows out");
  options.nulls = Nulls::kFill;
  options.fill = -1;
  EXPECT_EQ(column_of(Table(directory_ / "t.parquet", options), 0)[77], -1.0F);
}

TEST_F(TableTest, WhatIsWrongIsNamed) {
  write_parquet(*numbers(0, 10), directory_ / "t.parquet", 10);
  const std::string path = directory_ / "t.parquet";
  EXPECT_EQ(error_text([&] { Table(path, floats({"d"})); }), path + ": there is no column 'd'; near: a, b, c");
  EXPECT_EQ(error_text([&] { column_of(Table(path, floats({"name"})), 0); }),
            path + ": column 'name' holds string, which is no number");
  EXPECT_EQ(error_text([&] { Table(directory_ / "absent.csv", floats({"d"})); }),
            directory_ / "absent.csv" + ": no such file or directory");
  write_bytes(directory_ / "cut.parquet", testing::read_bytes(path).substr(0, 300));
  EXPECT_EQ(error_text([&] { Table(directory_ / "cut.parquet", floats({"a"})); }).rfind(directory_ / "cut.parquet", 0),
            0U);
  write_bytes(directory_ / "notes.txt", "hello");
  EXPECT_NE(
      error_text([&] { Table(directory_ / "notes.txt", floats({"a"})); }).find("rename it, or say what format it is"),
      std::string::npos);
  EXPECT_NE(error_text([&] { Table("nonsense://x/y.csv", floats({"a"})); }), "no error");
}

TEST_F(TableTest, TextInAColumnOfNumbersIsNamedWithItsColumn) {
  const std::string path = directory_ / "t.csv";
  write_bytes(path, "a,city\n1,Rome\n2,Bern\n");
  EXPECT_EQ(error_text([&] {
              Table(path, floats({"a", "city"}));
            }),
            path +
                ": column 'city' holds \"Rome\", which is no float; it is a column of text: leave it out, or make "
                "numbers of it");
  // Past the rows by which the type of the column is guessed.
  std::string late = "a,b\n";
  for (int i = 0; i < 400000; ++i) late += "1,2\n";
  write_bytes(path, late + "1,x\n");
  EXPECT_EQ(error_text([&] { Table(path, floats({"b"})); }), path + ": column 'b' holds \"x\", which is no float");
}

TEST_F(TableTest, CloudStoresThatCannotBeReachedAreNamed) {
  // Nobody listens at port 9.
  const std::string options = "?scheme=http&endpoint_override=127.0.0.1:9&retry_limit_seconds=0.1";
  EXPECT_EQ(
      error_text([&] { Table("gs://anonymous@b/t.parquet" + options, floats({"a"})); }).find("gs://b/t.parquet: "), 0U);
  EXPECT_EQ(error_text([&] { Table("ftp://host/t.parquet", floats({"a"})); }).find("ftp://host/t.parquet: "), 0U);
}

TEST_F(TableTest, InspectSaysWhatIsThere) {
  write_parquet(*numbers(0, 10), directory_ / "t.parquet", 4);
  const TableSchema schema = inspect_table(directory_ / "t.parquet");
  EXPECT_EQ(schema.rows, 10);
  EXPECT_EQ(schema.files, 1);
  ASSERT_EQ(schema.columns.size(), 4U);
  EXPECT_EQ(schema.columns[3].name + ":" + schema.columns[3].type, "name:string");
}

}  // namespace
}  // namespace thalweg::data
