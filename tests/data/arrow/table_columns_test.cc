// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/table_columns.h"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

#include "support/error_text.h"
#include "support/temporary_directory.h"

namespace thalweg::data {
namespace {

using ::testing::ElementsAre;
using testing::error_text;
using ::testing::HasSubstr;
using testing::TemporaryDirectory;
using testing::write_bytes;

class TableColumns : public ::testing::Test {
 protected:
  /// city (a dictionary), age, height, member; the height of row 2 is null.
  std::string people() {
    arrow::StringDictionaryBuilder city;
    arrow::Int32Builder age;
    arrow::FloatBuilder height;
    arrow::BooleanBuilder member;
    for (const auto& [c, a] : {std::pair("Oslo", 20), {"Bern", 30}, {"Oslo", 40}, {"Rome", 50}}) {
      EXPECT_TRUE(city.Append(c).ok() && age.Append(a).ok() && member.Append(a > 25).ok());
      EXPECT_TRUE((a == 40 ? height.AppendNull() : height.Append(static_cast<float>(a) / 16)).ok());
    }
    const std::shared_ptr<arrow::Array> cities = *city.Finish();
    const auto schema =
        arrow::schema({arrow::field("city", cities->type()), arrow::field("age", arrow::int32()),
                       arrow::field("height", arrow::float32()), arrow::field("member", arrow::boolean())});
    const auto table = arrow::Table::Make(schema, {cities, *age.Finish(), *height.Finish(), *member.Finish()});
    const std::string path = directory_ / "people.parquet";
    const auto file = *arrow::io::FileOutputStream::Open(path);
    EXPECT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), file, 3).ok());
    EXPECT_TRUE(file->Close().ok());
    return path;
  }

  TemporaryDirectory directory_;
};

TEST_F(TableColumns, KeepTheirKindOfValues) {
  TableOptions options;
  options.nulls = Nulls::kFill;
  options.fill = -1;
  const std::vector<Column> columns = read_columns(people(), {"member", "height", "city"}, options);
  EXPECT_THAT(std::get<std::vector<int64_t>>(columns[0].values), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(std::get<std::vector<double>>(columns[1].values), ElementsAre(1.25, 1.875, -1, 3.125));
  EXPECT_THAT(std::get<std::vector<std::string>>(columns[2].values), ElementsAre("Oslo", "Bern", "Oslo", "Rome"));
}

TEST_F(TableColumns, GoThroughFeatures) {
  std::vector<Column> columns = read_columns(people(), {"city", "age"});
  Features features(
      {CrossHash{{"city", "age"}, "both", 50}, HashBucket{"age", 8}, StringIndex{"city"}, OneHot{"city"}});
  features.fit(columns);
  const Tensor x = to_tensor(columns, {"city_0", "city_1", "city_2"});
  EXPECT_THAT(std::vector<float>(x.data<float>(), x.data<float>() + 6), ElementsAre(0, 1, 0, 1, 0, 0));
  TableOptions oslo;
  oslo.filter = {{"city", Condition::Kind::kEqual, std::string("Oslo")}};
  std::vector<Column> some = read_columns(directory_ / "people.parquet", {"city", "age"}, oslo);
  Features::from_json(features.to_json()).apply(some);
  const Tensor again = to_tensor(some, {"both"}), all = to_tensor(columns, {"both"});
  EXPECT_EQ(again.data<float>()[1], all.data<float>()[2]) << "the same row, also alone and after a way through JSON";
}

TEST_F(TableColumns, OfCsvAreWhatTheyLookLike) {
  write_bytes(directory_ / "t.csv", "name,count,share\none,1,0.5\ntwo,2,0.25\n");
  const std::vector<Column> columns = read_columns(directory_ / "t.csv", {"name", "count", "share"});
  EXPECT_THAT(std::get<std::vector<std::string>>(columns[0].values), ElementsAre("one", "two"));
  EXPECT_THAT(std::get<std::vector<int64_t>>(columns[1].values), ElementsAre(1, 2));
  EXPECT_THAT(std::get<std::vector<double>>(columns[2].values), ElementsAre(0.5, 0.25));
}

TEST_F(TableColumns, WhatIsWrongIsNamed) {
  const std::string path = people();
  EXPECT_THAT(error_text([&] { read_columns(path, {"height"}); }), HasSubstr("'height' is null in row 2"));
  EXPECT_THAT(error_text([&] { read_columns(path, {"heigt"}); }), HasSubstr("no column 'heigt'; near: height"));
  EXPECT_THAT(error_text([&] { read_columns(path, {}); }), HasSubstr("no columns"));
  TableOptions small;
  small.memory_bytes = 8;
  EXPECT_THAT(error_text([&] { read_columns(path, {"age"}, small); }), HasSubstr("memory_bytes"));
}

}  // namespace
}  // namespace thalweg::data
