// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/row_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <numeric>
#include <random>

#include "support/error_text.h"

namespace thalweg::data {
namespace {

using ::testing::ElementsAre;
using testing::error_text;
using ::testing::HasSubstr;

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

RowField field(const std::string& name, RowField::Role role, RowField::Kind kind, TensorType type = {}) {
  RowField result;
  result.name = name;
  result.role = role;
  result.kind = kind;
  result.type = std::move(type);
  return result;
}

/// Two numbers, a label and a name.
std::vector<RowField> table_fields() {
  return {field("x", RowField::Role::kInput, RowField::Kind::kTensor, {DType::kF32, {2}}),
          field("label", RowField::Role::kTarget, RowField::Kind::kTensor, {DType::kI64, {}}),
          field("path", RowField::Role::kName, RowField::Kind::kText)};
}

/// Row i is {i, -i}, labelled i.
void append_rows(RowStore& store, int64_t first, int64_t rows) {
  std::vector<float> x;
  std::vector<int64_t> labels;
  std::string names;
  std::vector<uint64_t> offsets = {0};
  for (int64_t i = first; i < first + rows; ++i) {
    x.push_back(static_cast<float>(i));
    x.push_back(static_cast<float>(-i));
    labels.push_back(i);
    names += "name" + std::to_string(i);
    offsets.push_back(names.size());
  }
  store.append({rows, {{bytes_of(x)}, {bytes_of(labels)}, {std::as_bytes(std::span(names)), offsets}}});
}

std::vector<int64_t> labels_of(const RowStore& store, const std::vector<int64_t>& rows) {
  const Batch batch = store.fetch(rows);
  std::vector<int64_t> labels;
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t label = batch.targets[0].data<int64_t>()[i];
    EXPECT_EQ(batch.inputs[0].data<float>()[2 * i], static_cast<float>(label));
    EXPECT_EQ(batch.inputs[0].data<float>()[2 * i + 1], static_cast<float>(-label));
    labels.push_back(label);
  }
  return labels;
}

TEST(RowStore, GivesRowsInAnyOrder) {
  RowStore store(table_fields());
  append_rows(store, 0, 3);
  append_rows(store, 3, 0);
  append_rows(store, 3, 4);
  EXPECT_EQ(store.size(), 7);
  EXPECT_THAT(labels_of(store, {6, 0, 3, 2}), ElementsAre(6, 0, 3, 2));
  EXPECT_EQ(store.target_types()[0].shape, Shape({kFree}));
  store.show(5);
  EXPECT_EQ(store.size(), 5);
  EXPECT_EQ(store.num_rows(), 7);
}

TEST(RowStore, RowsTravelToAnotherStore) {
  RowStore store(table_fields());
  append_rows(store, 0, 50);
  append_rows(store, 50, 50);
  RowStore other(table_fields());
  for (int64_t first = 40; first < 100;) {
    int64_t rows = 100 - first;
    other.append_packed(store.pack(first, rows, 200));
    EXPECT_GT(rows, 0);
    EXPECT_LT(rows, 60);
    first += rows;
  }
  EXPECT_EQ(other.size(), 60);
  EXPECT_THAT(labels_of(other, {0, 59, 10}), ElementsAre(40, 99, 50));
}

TEST(RowStore, ArrangedRowsDoNotDependOnTheOrderOfComing) {
  RowStore forward(table_fields()), backward(table_fields());
  append_rows(forward, 0, 100);
  append_rows(forward, 7, 1);  // once more
  append_rows(backward, 7, 1);
  for (int64_t i = 99; i >= 0; --i) append_rows(backward, i, 1);
  forward.arrange();
  backward.arrange();
  std::vector<int64_t> all(101);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(labels_of(forward, all), labels_of(backward, all));
  append_rows(forward, 200, 1);
  EXPECT_THAT(labels_of(forward, {101}), ElementsAre(200));
  int64_t rows = 3;
  RowStore other(table_fields());
  other.append_packed(forward.pack(98, rows, 1 << 20));
  EXPECT_EQ(labels_of(other, {0, 1, 2}), labels_of(forward, {98, 99, 100}));
}

TEST(RowStore, ArrangingEndsWhenItIsCancelled) {
  RowStore store(table_fields());
  append_rows(store, 0, 5);
  const std::atomic<bool> cancelled = true;
  EXPECT_THAT(error_text([&] { store.arrange(&cancelled); }), HasSubstr("was cancelled"));
}

TEST(RowStore, WhatIsNoPackedRowsIsRefused) {
  RowStore store(table_fields());
  append_rows(store, 0, 5);
  int64_t rows = 5;
  const std::vector<std::byte> packed = store.pack(0, rows, 1000);
  std::mt19937 random(1);
  for (size_t size = 0; size < packed.size(); ++size) {
    EXPECT_THROW(store.append_packed(std::span(packed).first(size)), Error) << size;
  }
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> damaged = packed;
    damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    try {
      RowStore other(table_fields());
      other.append_packed(damaged);
      EXPECT_EQ(other.size(), 5);
    } catch (const Error&) {
    }
  }
}

TEST(RowStore, RowsBeyondTheBudgetGoToAFile) {
  RowStoreOptions options;
  options.memory_bytes = 20000;
  options.directory = ::testing::TempDir();
  RowStore store(table_fields(), options);
  for (int64_t i = 0; i < 10; ++i) append_rows(store, i * 200, 200);
  EXPECT_GT(store.disk_bytes(), 0);
  EXPECT_LE(store.memory_bytes(), 20000);
  EXPECT_THAT(labels_of(store, {0, 1999, 1000}), ElementsAre(0, 1999, 1000));
  options.directory = "";
  RowStore small(table_fields(), options);
  EXPECT_THAT(error_text([&] { append_rows(small, 0, 2000); }), HasSubstr("20000 bytes of memory"));
  options.directory = "/nowhere";
  RowStore nowhere(table_fields(), options);
  EXPECT_THAT(error_text([&] { append_rows(nowhere, 0, 2000); }), HasSubstr("/nowhere: no file"));
}

TEST(RowStore, SizesThatDoNotFitAreErrors) {
  RowStore store(table_fields());
  const std::vector<float> x(3);
  const std::vector<int64_t> labels(2);
  const std::vector<uint64_t> offsets = {0, 0, 0};
  EXPECT_THAT(error_text([&] {
                store.append({2, {{bytes_of(x)}, {bytes_of(labels)}, {{}, offsets}}});
              }),
              HasSubstr("field 'x': 2 rows of 8 bytes expected, got 12"));
  EXPECT_THAT(error_text([&] { store.append({2, {{bytes_of(x)}}}); }), HasSubstr("3 fields, got 1"));
  const std::vector<float> fits(4);
  const std::vector<uint64_t> outside = {0, 9, 3};
  EXPECT_THAT(error_text([&] {
                store.append({2, {{bytes_of(fits)}, {bytes_of(labels)}, {{}, outside}}});
              }),
              HasSubstr("field 'path': the offsets do not lie"));
}

TEST(RowStore, AnImageThatCannotBeDecodedIsNamed) {
  RowField image = field("image", RowField::Role::kInput, RowField::Kind::kImage);
  image.pipeline = Pipeline({Resize{4, 4}});
  RowStore store({image, field("path", RowField::Role::kName, RowField::Kind::kText)});
  const std::string junk = "no image";
  const std::string name = "hdfs://here/there.jpg";
  const std::vector<uint64_t> offsets = {0, junk.size()};
  const std::vector<uint64_t> name_offsets = {0, name.size()};
  store.append({1, {{std::as_bytes(std::span(junk)), offsets}, {std::as_bytes(std::span(name)), name_offsets}}});
  EXPECT_EQ(store.input_types()[0].shape, Shape({kFree, 3, 4, 4}));
  EXPECT_TRUE(store.is_costly());
  EXPECT_THAT(error_text([&] { store.fetch(std::vector<int64_t>{0}); }), HasSubstr(name));
}

}  // namespace
}  // namespace thalweg::data
