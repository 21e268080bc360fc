// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/features.h"

#include "data/features/columns.h"
#include "data/features/feature_columns.h"
#include "data/features/json.h"
#include "data/features/kinds.h"

namespace thalweg::data {
std::unique_ptr<FeatureStatistic> statistic_for(const Feature& feature) {
  return std::visit([](const auto& f) { return statistic_of(f); }, feature);
}

void apply_feature(const Feature& feature, std::vector<Column>& columns) {
  std::visit([&](const auto& f) { apply(f, columns); }, feature);
}

Features::Features(std::vector<Feature> features) : features_(std::move(features)) {
  for (const Feature& feature : features_) check_feature(feature);
}

void Features::fit(std::vector<Column>& columns) {
  for (Feature& feature : features_) {
    if (const auto statistic = statistic_for(feature)) {
      statistic->see(columns);
      statistic->teach(feature);
    }
    apply_feature(feature, columns);
  }
}

void Features::apply(std::vector<Column>& columns) const {
  for (const Feature& feature : features_) apply_feature(feature, columns);
}

Tensor to_tensor(const std::vector<Column>& columns, const std::vector<std::string>& names, DType dtype) {
  TW_REQUIRE(!names.empty(), "a tensor of no columns");
  const int64_t rows = find_column(columns, names[0]).rows();
  const auto width = static_cast<int64_t>(names.size());
  const bool whole = dtype == DType::kI64 || dtype == DType::kI32;
  Tensor result(whole ? DType::kI64 : DType::kF64, {rows, width});
  for (int64_t c = 0; c < width; ++c) {
    const Column& column = find_column(columns, names[static_cast<size_t>(c)]);
    TW_REQUIRE(column.rows() == rows, "column '", column.name, "' has ", column.rows(), " rows, '", names[0], "' has ",
               rows);
    require_present(column);
    if (const auto* integers = std::get_if<Integers>(&column.values); whole && integers != nullptr) {
      for (int64_t r = 0; r < rows; ++r) {
        result.data<int64_t>()[r * width + c] = (*integers)[static_cast<size_t>(r)];
      }
      continue;
    }
    TW_REQUIRE(!whole, "column '", column.name, "' does not hold whole numbers");
    const Numbers values = numbers_of(column);
    for (int64_t r = 0; r < rows; ++r) result.data<double>()[r * width + c] = values[static_cast<size_t>(r)];
  }
  return result.to(dtype);
}

}  // namespace thalweg::data
