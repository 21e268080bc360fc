// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>

#include "formats/onnx/small_model.h"
#include "thalweg/c_preparation.h"
#include "thalweg/data/metadata.h"

namespace thalweg {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

std::string taken_text(tw_result* result) {
  std::string text = tw_result_text(result);
  tw_result_free(result);
  return text;
}

/// A model's description, as tw_model_description gives it.
std::string description(const data::ModelMetadata& metadata, const char* dtype, std::vector<int64_t> shape) {
  const json text = {{"inputs", {{{"name", "x"}, {"dtype", dtype}, {"shape", std::move(shape)}}}},
                     {"outputs", json::array()},
                     {"metadata", data::to_properties(metadata)}};
  return text.dump();
}

std::string of_trips() {
  data::ModelMetadata metadata;
  metadata.features = data::Features({data::StringIndex{"city", {"Oslo", "Rome"}}});
  metadata.columns = {{"city", "fare", "age"}};
  return description(metadata, "f32", {-1, 3});
}

/// Frees what it holds.
struct Preparation {
  explicit Preparation(const std::string& model, const char* columns = nullptr) {
    status = tw_preparation_create(model.c_str(), columns, &made);
  }
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;
  ~Preparation() { tw_preparation_free(made); }
  tw_preparation* made = nullptr;
  tw_status status;
};

TEST(CPreparation, AModelTellsWhatItsFileSays) {
  const std::string bytes = testing::bytes_of(testing::small_model());
  tw_model* model = nullptr;
  ASSERT_EQ(tw_model_load_bytes(bytes.data(), bytes.size(), nullptr, &model), TW_OK) << tw_last_error();
  tw_result* result = nullptr;
  ASSERT_EQ(tw_model_description(model, &result), TW_OK) << tw_last_error();
  tw_model_free(model);
  const json text = json::parse(taken_text(result));
  EXPECT_EQ(text.at("inputs"), json::parse(R"([{"name": "x", "dtype": "f32", "shape": [-1, 2]}])"));
  EXPECT_EQ(text.at("metadata").at("author"), "a test");
}

TEST(CPreparation, ColumnsBecomeInputs) {
  const Preparation trips(of_trips());
  ASSERT_EQ(trips.status, TW_OK) << tw_last_error();
  tw_result* result = nullptr;
  ASSERT_EQ(tw_preparation_needs(trips.made, &result), TW_OK);
  EXPECT_EQ(json::parse(taken_text(result)),
            json::parse(R"({"kind": "columns", "columns": ["fare", "age", "city"], "imputed": []})"));

  const std::array<int64_t, 3> ends = {0, 4, 8};
  const std::array<double, 2> fares = {1.5, 2.5};
  const std::array<int64_t, 2> ages = {20, 30};
  const std::array<tw_row_column, 3> columns = {{{"age", TW_I64, ages.data(), nullptr, nullptr},
                                                 {"city", TW_TEXT, "RomeOslo", ends.data(), nullptr},
                                                 {"fare", TW_F64, fares.data(), nullptr, nullptr}}};
  ASSERT_EQ(tw_preparation_run(trips.made, columns.data(), columns.size(), 2, 3, &result), TW_OK) << tw_last_error();
  tw_tensor input;
  ASSERT_EQ(tw_result_tensor(result, 0, &input), TW_OK);
  EXPECT_EQ(input.dtype, TW_F32);
  EXPECT_EQ(std::vector<int64_t>(input.dims, input.dims + input.rank), (std::vector<int64_t>{3, 3}));
  const auto* elements = static_cast<const float*>(input.data);
  EXPECT_EQ(std::vector<float>(elements, elements + 9), (std::vector<float>{1, 1.5, 20, 0, 2.5, 30, 0, 2.5, 30}));
  tw_result_free(result);
}

TEST(CPreparation, MissingValuesAreThoseThatTheCallerMarks) {
  data::ModelMetadata metadata;
  metadata.features = data::Features({data::Impute{"age", data::Impute::With::kConstant, 7.0}});
  metadata.columns = {{"age"}};
  const Preparation ages(description(metadata, "f32", {-1, 1}));
  tw_result* result = nullptr;
  ASSERT_EQ(tw_preparation_needs(ages.made, &result), TW_OK);
  EXPECT_EQ(json::parse(taken_text(result)),
            json::parse(R"({"kind": "columns", "columns": ["age"], "imputed": ["age"]})"));
  const std::array<int64_t, 2> values = {1, 2};
  const std::array<uint8_t, 2> missing = {1, 0};
  const tw_row_column column = {"age", TW_I64, values.data(), nullptr, missing.data()};
  ASSERT_EQ(tw_preparation_run(ages.made, &column, 1, 2, 2, &result), TW_OK) << tw_last_error();
  tw_tensor input;
  ASSERT_EQ(tw_result_tensor(result, 0, &input), TW_OK);
  EXPECT_EQ(static_cast<const float*>(input.data)[0], 7);
  EXPECT_EQ(static_cast<const float*>(input.data)[1], 2);
  tw_result_free(result);
}

TEST(CPreparation, TextsBecomeTokens) {
  data::ModelMetadata metadata;
  metadata.text = {.vocabulary = data::Vocabulary({"a", "day"}), .tokenize = {}, .shape = {.length = 2}};
  const Preparation lines(description(metadata, "i64", {-1, 2}));
  ASSERT_EQ(lines.status, TW_OK) << tw_last_error();
  tw_result* result = nullptr;
  ASSERT_EQ(tw_preparation_needs(lines.made, &result), TW_OK);
  EXPECT_EQ(json::parse(taken_text(result)), json::parse(R"({"kind": "text", "columns": [], "imputed": []})"));
  const std::array<int64_t, 3> ends = {0, 5, 5};
  const tw_row_column column = {"any", TW_TEXT, "a day", ends.data(), nullptr};
  ASSERT_EQ(tw_preparation_run(lines.made, &column, 1, 2, 2, &result), TW_OK) << tw_last_error();
  tw_tensor input;
  ASSERT_EQ(tw_result_tensor(result, 0, &input), TW_OK);
  const auto* tokens = static_cast<const int64_t*>(input.data);
  EXPECT_EQ(std::vector<int64_t>(tokens, tokens + 4), (std::vector<int64_t>{2, 3, 0, 0}));
  tw_result_free(result);
}

TEST(CPreparation, WhatIsWrongIsTold) {
  const auto refused = [](const std::string& model, const char* columns = nullptr) {
    const Preparation made(model, columns);
    EXPECT_EQ(made.status, TW_ERROR);
    EXPECT_EQ(made.made, nullptr);
    return std::string(tw_last_error());
  };
  EXPECT_THAT(refused("{"), HasSubstr("cannot be read"));
  EXPECT_THAT(refused(R"({"inputs": [{}], "metadata": {}})"), HasSubstr("cannot be read"));
  EXPECT_THAT(refused(of_trips(), "[1]"), HasSubstr("cannot be read"));
  EXPECT_THAT(refused(of_trips(), R"([["city"]])"), HasSubstr("input \"x\" takes 3 columns, there are 1 for it"));
  EXPECT_THAT(refused(description({}, "f32", {-1, 3})), HasSubstr("name them"));

  const Preparation trips(of_trips());
  tw_result* result = nullptr;
  const auto run_with = [&](const tw_row_column& column, int64_t rows, int64_t filled) {
    EXPECT_EQ(tw_preparation_run(trips.made, &column, 1, rows, filled, &result), TW_ERROR);
    return std::string(tw_last_error());
  };
  const std::array<int64_t, 2> backwards = {3, 1};
  const double number = 1;
  EXPECT_THAT(run_with({"city", TW_TEXT, "Oslo", backwards.data(), nullptr}, 1, 1),
              HasSubstr("column 'city': the text of row 0 ends before it begins"));
  EXPECT_THAT(run_with({"city", TW_TEXT, "Oslo", nullptr, nullptr}, 1, 1), HasSubstr("does not say where each begins"));
  EXPECT_THAT(run_with({"fare", TW_F64, nullptr, nullptr, nullptr}, 1, 1), HasSubstr("'fare' are a null pointer"));
  EXPECT_THAT(run_with({"fare", TW_BOOL, &number, nullptr, nullptr}, 1, 1), HasSubstr("f64, i64 and texts are taken"));
  EXPECT_THAT(run_with({nullptr, TW_F64, &number, nullptr, nullptr}, 1, 1), HasSubstr("a column has no name"));
  EXPECT_THAT(run_with({"fare", TW_F64, &number, nullptr, nullptr}, 1, 0),
              HasSubstr("1 rows cannot be filled up to 0"));
  EXPECT_THAT(run_with({"fare", TW_F64, &number, nullptr, nullptr}, 1, 1), HasSubstr("there is no column \"age\""));
  EXPECT_EQ(tw_preparation_create(nullptr, nullptr, nullptr), TW_ERROR);
  tw_preparation_free(nullptr);
}

TEST(CPreparation, FeaturesLearnOfRowsInSeveralPlaces) {
  const char* features = R"([{"kind": "min_max_scale", "column": "fare"}, {"kind": "string_index", "column": "city"}])";
  tw_features_fit *all = nullptr, *there = nullptr;
  ASSERT_EQ(tw_features_fit_create(features, &all), TW_OK) << tw_last_error();
  tw_result* result = nullptr;
  ASSERT_EQ(tw_features_fit_plan(all, &result), TW_OK);
  const std::string plan = taken_text(result);
  EXPECT_EQ(json::parse(plan).at("columns"), json::parse(R"(["fare", "city"])"));
  EXPECT_EQ(json::parse(plan).at("done"), false);

  const std::array<int64_t, 3> ends = {0, 4, 8};
  const std::array<double, 2> fares = {1.5, 2.5};
  const std::array<tw_row_column, 2> columns = {
      {{"city", TW_TEXT, "RomeOslo", ends.data(), nullptr}, {"fare", TW_F64, fares.data(), nullptr, nullptr}}};
  for (int place = 0; place < 2; ++place) {
    ASSERT_EQ(tw_features_fit_create(plan.c_str(), &there), TW_OK) << tw_last_error();
    ASSERT_EQ(tw_features_fit_see(there, columns.data(), columns.size(), 2), TW_OK) << tw_last_error();
    ASSERT_EQ(tw_features_fit_state(there, &result), TW_OK);
    tw_features_fit_free(there);
    ASSERT_EQ(tw_features_fit_merge(all, taken_text(result).c_str()), TW_OK) << tw_last_error();
  }
  ASSERT_EQ(tw_features_fit_end_pass(all), TW_OK) << tw_last_error();
  ASSERT_EQ(tw_features_fit_plan(all, &result), TW_OK);
  const json done = json::parse(taken_text(result));
  EXPECT_EQ(done.at("done"), true);
  EXPECT_EQ(done.at("features")[0].at("high"), 2.5);
  EXPECT_EQ(done.at("features")[1].at("categories"), json::parse(R"(["Oslo", "Rome"])"));

  EXPECT_EQ(tw_features_fit_merge(all, "nothing"), TW_ERROR);
  EXPECT_THAT(tw_last_error(), HasSubstr("a state of fitting features"));
  EXPECT_EQ(tw_features_fit_see(all, columns.data(), columns.size(), -1), TW_ERROR);
  EXPECT_EQ(tw_features_fit_create("{", &there), TW_ERROR);
  EXPECT_EQ(tw_features_fit_create(nullptr, nullptr), TW_ERROR);
  tw_features_fit_free(all);
  tw_features_fit_free(nullptr);
}

}  // namespace
}  // namespace thalweg
