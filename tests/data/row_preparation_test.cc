// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/row_preparation.h"

#include <gtest/gtest.h>

#include "support/error_text.h"

namespace thalweg::data {
namespace {

using testing::error_text;
using Names = std::vector<std::string>;

ModelMetadata of_trips() {
  ModelMetadata metadata;
  metadata.features = Features({StringIndex{"city", {"Oslo", "Rome"}}, StandardScale{"fare", 3, 2}});
  metadata.columns = {{"city", "fare"}};
  return metadata;
}

ModelMetadata of_lines() {
  ModelMetadata metadata;
  metadata.text = {.vocabulary = Vocabulary({"a", "day"}), .tokenize = {}, .shape = {.length = 3}};
  return metadata;
}

const std::vector<TableInput> kTwoNumbers = {{"x", {DType::kF32, {kFree, 2}}}};
const std::vector<TableInput> kThreeTokens = {{"tokens", {DType::kI64, {kFree, 3}}}};

template <typename T>
std::vector<T> elements(const Tensor& tensor) {
  return {tensor.data<T>(), tensor.data<T>() + tensor.num_elements()};
}

TEST(RowPreparation, TablesGoByTheFeaturesOfTheFile) {
  const RowPreparation rows(of_trips(), kTwoNumbers);
  EXPECT_FALSE(rows.takes_texts());
  EXPECT_EQ(rows.columns(), (Names{"fare", "city"}));
  const std::vector<Tensor> made =
      rows.make({{"note", Names{"-", "-"}}, {"fare", std::vector<double>{1, 5}}, {"city", Names{"Rome", "Paris"}}}, 2);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(elements<float>(made[0]), (std::vector<float>{1, -1, 2, 1})) << "whatever the order, and others beside";
}

TEST(RowPreparation, MissingRowsAreCopiesOfTheLast) {
  const RowPreparation rows(of_trips(), kTwoNumbers);
  const std::vector<Column> one = {{"city", Names{"Oslo"}}, {"fare", std::vector<int64_t>{7}}};
  const Tensor filled = rows.make(one, 3)[0];
  EXPECT_EQ(filled.shape(), Shape({3, 2}));
  EXPECT_EQ(elements<float>(filled), (std::vector<float>{0, 2, 0, 2, 0, 2}));
  EXPECT_EQ(rows.make({{"city", Names{}}, {"fare", std::vector<double>{}}}, 0)[0].shape(), Shape({0, 2}));
  EXPECT_EQ(error_text([&] {
              rows.make({{"city", Names{}}, {"fare", std::vector<double>{}}}, 2);
            }),
            "0 rows cannot be filled up to 2");
}

TEST(RowPreparation, ALineOfTextIsAColumnOfAnyName) {
  const RowPreparation rows(of_lines(), kThreeTokens);
  EXPECT_TRUE(rows.takes_texts());
  EXPECT_TRUE(rows.columns().empty());
  const Tensor made = rows.make({{"review", Names{"a day", "", "a fine day a"}}}, 4)[0];
  const TextPreprocessing text = *of_lines().text;
  std::vector<int64_t> expected;
  for (const char* line : {"a day", "", "a fine day a", "a fine day a"}) {
    int64_t row[3];
    text.encode(line, row);
    expected.insert(expected.end(), row, row + 3);
  }
  EXPECT_EQ(elements<int64_t>(made), expected);
  EXPECT_EQ(error_text([&] { rows.make({{"n", std::vector<double>{1}}}, 1); }), "the model takes one column, of texts");
}

TEST(RowPreparation, ColumnsNamedByTheUserTakeThePlaceOfTheFiles) {
  ModelMetadata metadata = of_trips();
  metadata.columns.clear();
  EXPECT_EQ(error_text([&] { RowPreparation(metadata, kTwoNumbers); }),
            "the model's file does not say which columns become its input: name them");
  const RowPreparation rows(metadata, kTwoNumbers, {{"fare", "age"}});
  EXPECT_EQ(rows.columns(), (Names{"age", "fare"}));
  const std::vector<Column> one = {{"age", std::vector<int64_t>{4}}, {"fare", std::vector<double>{3}}};
  EXPECT_EQ(elements<float>(rows.make(one, 1)[0]), (std::vector<float>{0, 4}));
}

TEST(RowPreparation, WhatDoesNotFitIsTold) {
  EXPECT_EQ(error_text([] {
              RowPreparation(of_trips(), {{"x", {DType::kF32, {kFree, 3}}}});
            }),
            "input \"x\" takes 3 columns, there are 2 for it");
  EXPECT_EQ(error_text([] { RowPreparation(of_lines(), kTwoNumbers); }), "text becomes i64; input \"x\" takes f32");
  EXPECT_EQ(error_text([] {
              RowPreparation(of_lines(), {{"tokens", {DType::kI64, {kFree, 8}}}});
            }),
            "text becomes rows of 3 numbers, which input \"tokens\" [?,8] does not take");
  EXPECT_EQ(error_text([] {
              RowPreparation(of_lines(), {kThreeTokens[0], kThreeTokens[0]});
            }),
            "text is data for a model with one input, this one has 2");
  const RowPreparation rows(of_trips(), kTwoNumbers);
  EXPECT_EQ(error_text([&] {
              rows.make({{"city", Names{"Oslo"}}}, 1);
            }),
            "there is no column \"fare\", which the model needs");
}

}  // namespace
}  // namespace thalweg::data
