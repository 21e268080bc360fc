// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/table_inputs.h"

#include <gtest/gtest.h>

#include "support/error_text.h"

namespace thalweg::data {
namespace {

using testing::error_text;
using Names = std::vector<std::string>;

std::vector<Column> people() {
  return {{"city", Names{"Oslo", "Rome"}},
          {"age", std::vector<int64_t>{20, 30}},
          {"note", Names{"a", "b"}},
          {"height", std::vector<double>{1.5, 2}}};
}

ModelMetadata fitted() {
  ModelMetadata metadata;
  metadata.features = Features(
      {StringIndex{"city", {"Oslo", "Rome"}}, MinMaxScale{"height", 1, 2}, StringIndex{"label", {"no", "yes"}}});
  metadata.columns = {{"height", "city"}};
  return metadata;
}

std::vector<float> elements(const Tensor& tensor) {
  return {tensor.data<float>(), tensor.data<float>() + tensor.num_elements()};
}

TEST(TableInputs, FeaturesComeBeforeTheColumnsOfTheInput) {
  const TableInputs inputs(fitted(), {{"x", {DType::kF32, {kFree, 2}}}});
  EXPECT_EQ(inputs.sources({"city", "age", "note", "height"}, {"age", "height"}), (Names{"city", "height"}))
      << "neither a label nor what the input is not made of";
  EXPECT_EQ(inputs.sources({"age"}, {"age"}), (Names{"height", "city"})) << "what is missing is asked for all the same";
  const std::vector<Tensor> made = inputs.make(people());
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].type(), (TensorType{DType::kF32, {2, 2}}));
  EXPECT_EQ(elements(made[0]), (std::vector<float>{0.5, 0, 1, 1}));
}

TEST(TableInputs, SeveralInputsGoByTheirNames) {
  ModelMetadata metadata = fitted();
  metadata.columns.clear();
  const TableInputs inputs(metadata, {{"city", {DType::kI64, {kFree}}}, {"age", {DType::kI32, {kFree, 1}}}});
  const std::vector<Tensor> made = inputs.make(people());
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].type(), (TensorType{DType::kI64, {2}}));
  EXPECT_EQ(made[0].data<int64_t>()[1], 1);
  EXPECT_EQ(made[1].type(), (TensorType{DType::kI32, {2, 1}}));
}

TEST(TableInputs, WithoutAWordAllNumbersAreTaken) {
  ModelMetadata metadata;
  metadata.features = Features({StringIndex{"city", {"Oslo", "Rome"}}});
  const TableInputs inputs(metadata, {{"x", {DType::kF32, {kFree, kFree}}}});
  EXPECT_TRUE(inputs.takes_all_numbers());
  EXPECT_EQ(inputs.sources({"city", "age", "note", "height"}, {"age", "height"}), (Names{"city", "age", "height"}));
  EXPECT_EQ(elements(inputs.make(people())[0]), (std::vector<float>{0, 20, 1.5, 1, 30, 2}));
}

TEST(TableInputs, WhatDoesNotFitIsNamed) {
  EXPECT_EQ(error_text([] {
              TableInputs(fitted(), {{"x", {}}, {"y", {}}});
            }),
            "columns are named for 1 inputs, the model takes 2");
  EXPECT_EQ(error_text([] {
              TableInputs(fitted(), {{"x", {DType::kF32, {kFree, 3}}}}).make(people());
            }),
            "input \"x\" takes 3 columns, there are 2 for it");
  EXPECT_EQ(error_text([] {
              TableInputs(fitted(), {{"x", {DType::kF32, {kFree, 3, 8, 8}}}}).make(people());
            }),
            "input \"x\" has 4 dimensions, which columns of a table do not fill");
}

}  // namespace
}  // namespace thalweg::data
