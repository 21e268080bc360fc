// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Tables on a file system that is not local: what tests/data/remote/run.py started, at the address in
// THALWEG_REMOTE_URI, in which {} stands for a path.
#include <arrow/api.h>
#include <arrow/csv/writer.h>
#include <arrow/filesystem/api.h>
#include <arrow/ipc/writer.h>
#include <gmock/gmock.h>
#include <parquet/arrow/writer.h>

#include <cstdlib>

#include "support/error_text.h"
#include "support/golden_image.h"
#include "support/temporary_directory.h"
#include "thalweg/data/image_folder.h"
#include "thalweg/data/remote_files.h"
#include "thalweg/data/table.h"

namespace thalweg::data {
namespace {

constexpr int64_t kRows = 100000;

std::string uri_of(const std::string& path) {
  const char* pattern = std::getenv("THALWEG_REMOTE_URI");
  EXPECT_NE(pattern, nullptr) << "run tests/data/remote/run.py";
  std::string uri = pattern != nullptr ? pattern : "{}";
  return uri.replace(uri.find("{}"), 2, path);
}

/// The first time a table at such an address is opened, what Arrow needs for it is loaded; the tests write before they
/// read, through Arrow itself.
class RemoteTables : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    testing::error_text([] { Table(uri_of("nothing.parquet"), {.inputs = {{{"x"}}}}); });
  }
};

/// Columns x = row and y = row / 4.
std::shared_ptr<arrow::Table> numbers(int64_t begin, int64_t rows) {
  arrow::Int64Builder x;
  arrow::DoubleBuilder y;
  for (int64_t i = begin; i < begin + rows; ++i) {
    EXPECT_TRUE(x.Append(i).ok());
    EXPECT_TRUE(y.Append(static_cast<double>(i) / 4).ok());
  }
  return arrow::Table::Make(arrow::schema({arrow::field("x", arrow::int64()), arrow::field("y", arrow::float64())}),
                            {*x.Finish(), *y.Finish()});
}

/// Writes through Arrow's file system, hence over the same wire.
template <typename Write>
void write_file(const std::string& name, const Write& write) {
  std::string path;
  const auto system = arrow::fs::FileSystemFromUri(uri_of(name), &path).ValueOrDie();
  ASSERT_TRUE(system->CreateDir(path.substr(0, path.rfind('/'))).ok());
  const auto file = system->OpenOutputStream(path).ValueOrDie();
  ASSERT_TRUE(write(file).ok());
  ASSERT_TRUE(file->Close().ok());
}

void write_parquet(const std::string& name, int64_t begin, int64_t rows) {
  write_file(name, [&](const auto& file) {
    return parquet::arrow::WriteTable(*numbers(begin, rows), arrow::default_memory_pool(), file, 4096);
  });
}

/// Reads all rows in the order given by the sampler and looks whether each came once, with the right value beside it.
void expect_numbers(const Table& table, const SamplerOptions& order) {
  ASSERT_EQ(table.size(), kRows);
  const BatchSampler sampler(table.size(), order);
  Loader loader(table, sampler, {.max_batches = sampler.batches_per_epoch()});
  std::vector<char> seen(kRows, 0);
  LoadedBatch loaded;
  while (loader.next(loaded)) {
    const float* values = loaded.batch.inputs[0].data<float>();
    for (int64_t i = 0; i < loaded.batch.size(); ++i) {
      ASSERT_EQ(values[2 * i + 1], values[2 * i] / 4);
      seen[static_cast<size_t>(values[2 * i])]++;
    }
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), kRows);
}

TEST_F(RemoteTables, ParquetFilesOfADirectory) {
  write_parquet("tables/part-0.parquet", 0, kRows / 2);
  write_parquet("tables/part-1.parquet", kRows / 2, kRows / 2);
  const Table table(uri_of("tables"), {.inputs = {{{"x", "y"}}}});
  expect_numbers(table, {.batch_size = 1000, .seed = 3, .shuffle_window = 10000});
  EXPECT_EQ(inspect_table(uri_of("tables")).rows, kRows);
}

TEST_F(RemoteTables, AFilter) {
  write_parquet("filtered/t.parquet", 0, kRows);
  TableOptions options{.inputs = {{{"x"}}}};
  options.filter = {{"x", Condition::Kind::kGreaterEqual, kRows - 5}};
  EXPECT_EQ(Table(uri_of("filtered/t.parquet"), options).size(), 5);
}

TEST_F(RemoteTables, CsvAndArrow) {
  const auto table = numbers(0, kRows);
  write_file("other/t.csv", [&](const auto& file) {
    return arrow::csv::WriteCSV(*table, arrow::csv::WriteOptions::Defaults(), file.get());
  });
  write_file("other/t.arrow", [&](const auto& file) {
    const auto writer = arrow::ipc::MakeFileWriter(file, table->schema()).ValueOrDie();
    const arrow::Status written = writer->WriteTable(*table, 10000);
    return written.ok() ? writer->Close() : written;
  });
  for (const char* name : {"other/t.csv", "other/t.arrow"}) {
    expect_numbers(Table(uri_of(name), {.inputs = {{{"x", "y"}}}}), {.batch_size = 777, .shuffle = false});
  }
}

TEST_F(RemoteTables, AFolderOfImages) {
  const auto write = [](const std::string& name, const std::string& bytes) {
    write_file(name, [&](const auto& file) { return file->Write(bytes.data(), static_cast<int64_t>(bytes.size())); });
  };
  const std::string photo = testing::read_bytes(testing::image_path("photo.jpg"));
  write("photos/cat/a.jpg", photo);
  write("photos/dog/b.jpg", photo);
  write("photos/dog/inner/c.png", testing::read_bytes(testing::image_path("photo.png")));
  write("photos/dog/notes.txt", "no image");
  write("photos/dog/x.jpg", photo.substr(0, 500));
  const ImageFolder folder(remote_files(uri_of("photos")), {.pipeline = Pipeline({Resize{.height = 8, .width = 8}})});
  EXPECT_EQ(folder.classes(), (std::vector<std::string>{"cat", "dog"}));
  ASSERT_EQ(folder.size(), 4);
  Loader loader(folder, BatchSampler(4, {.batch_size = 4, .shuffle = false}), {.bad = BadSample::kSkip});
  LoadedBatch loaded;
  ASSERT_TRUE(loader.next(loaded));
  EXPECT_EQ(loaded.batch.size(), 3);
  EXPECT_EQ(loaded.batch.targets[0].data<int64_t>()[2], 1);
  EXPECT_THAT(loaded.skipped.reasons.at(0), ::testing::HasSubstr("/photos/dog/x.jpg: bad JPEG"));
  EXPECT_THAT(testing::error_text([&] { remote_files(uri_of("nowhere")); }),
              ::testing::HasSubstr("/nowhere: no such directory"));
}

TEST_F(RemoteTables, WhatIsNotThereIsNamed) {
  const std::string text = testing::error_text([] { Table(uri_of("absent/t.parquet"), {.inputs = {{{"x"}}}}); });
  EXPECT_THAT(text, ::testing::HasSubstr("/absent/t.parquet: "));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("secret"))) << "of the address";
}

}  // namespace
}  // namespace thalweg::data
