// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/features.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "data/columns.h"
#include "data/feature_columns.h"
#include "data/feature_statistic.h"
#include "data/features_json.h"

namespace thalweg::data {
namespace {

/// FNV-1a, with a separator after each part so that "a" "bc" and "ab" "c" differ.
class Hash {
 public:
  void add(const std::string& text) {
    for (const char c : text) mix(static_cast<uint8_t>(c));
    mix(0);
  }
  int64_t bucket(int64_t buckets) const {
    // The low bits alone are not spread well.
    const uint64_t folded = (state_ ^ (state_ >> 32U)) * 0x9E3779B97F4A7C15ULL;
    return static_cast<int64_t>((folded >> 16U) % static_cast<uint64_t>(buckets));
  }

 private:
  void mix(uint8_t byte) { state_ = (state_ ^ byte) * 0x100000001B3ULL; }
  uint64_t state_ = 0xCBF29CE484222325ULL;
};

void apply(const StringIndex& f, std::vector<Column>& columns) {
  Column& column = find_column(columns, f.column);
  // Others may have written the categories in an order of their own.
  std::unordered_map<std::string_view, int64_t> numbers;
  for (const std::string& category : f.categories) numbers.emplace(category, static_cast<int64_t>(numbers.size()));
  Integers result;
  for (const std::string& text : texts_of(column)) {
    const auto found = numbers.find(text);
    result.push_back(found != numbers.end() ? found->second : static_cast<int64_t>(f.categories.size()));
  }
  column.values = std::move(result);
}

void scale(std::vector<Column>& columns, const std::string& name, double from, double width) {
  Column& column = find_column(columns, name);
  Numbers values = numbers_of(column);
  // A column of one value carries nothing: 0.
  for (double& value : values) value = width == 0 ? 0 : (value - from) / width;
  column.values = std::move(values);
}

void apply(const MinMaxScale& f, std::vector<Column>& columns) { scale(columns, f.column, f.low, f.high - f.low); }
void apply(const StandardScale& f, std::vector<Column>& columns) { scale(columns, f.column, f.mean, f.deviation); }

void apply(const CrossHash& f, std::vector<Column>& columns) {
  std::vector<Texts> parts;
  for (const std::string& name : f.columns) parts.push_back(texts_of(find_column(columns, name)));
  Integers result;
  for (size_t row = 0; row < parts[0].size(); ++row) {
    Hash hash;
    for (const Texts& part : parts) {
      TW_REQUIRE(part.size() == parts[0].size(), "cross_hash: columns of different length");
      hash.add(part[row]);
    }
    result.push_back(hash.bucket(f.buckets));
  }
  columns.push_back({f.name, std::move(result)});
}

void apply(const HashBucket& f, std::vector<Column>& columns) {
  Column& column = find_column(columns, f.column);
  Integers result;
  for (const std::string& text : texts_of(column)) {
    Hash hash;
    hash.add(text);
    result.push_back(hash.bucket(f.buckets));
  }
  column.values = std::move(result);
}

void apply(const OneHot& f, std::vector<Column>& columns) {
  constexpr int64_t kMostElements = int64_t{1} << 31;
  const Numbers values = numbers_of(find_column(columns, f.column));
  TW_REQUIRE(f.size > 0, "one_hot of column '", f.column, "' has no size: it was not fitted to any class");
  TW_REQUIRE(static_cast<int64_t>(values.size()) <= kMostElements / f.size, "one_hot of column '", f.column,
             "': ", values.size(), " rows of ", f.size, " columns are too many at once");
  for (int64_t k = 0; k < f.size; ++k) {
    Numbers hot;
    for (const double value : values) hot.push_back(value == static_cast<double>(k) ? 1.0 : 0.0);
    columns.push_back({f.column + "_" + std::to_string(k), std::move(hot)});
  }
  std::erase_if(columns, [&](const Column& column) { return column.name == f.column; });
}

/// Where a value is missing, in a column that says so or by NaN.
std::vector<bool> missing_in(const Column& column) {
  std::vector<bool> missing = column.missing;
  missing.resize(static_cast<size_t>(column.rows()), false);
  if (const auto* numbers = std::get_if<Numbers>(&column.values)) {
    for (size_t row = 0; row < missing.size(); ++row) missing[row] = missing[row] || std::isnan((*numbers)[row]);
  }
  return missing;
}

template <typename T>
void fill(std::vector<T>& values, const std::vector<bool>& missing, const T& value) {
  for (size_t row = 0; row < values.size(); ++row) {
    if (missing[row]) values[row] = value;
  }
}

void fill(Column& column, const std::vector<bool>& missing, const std::string& text) {
  auto* texts = std::get_if<Texts>(&column.values);
  TW_REQUIRE(texts != nullptr, "impute: column '", column.name, "' holds numbers, and a text is to fill it");
  fill(*texts, missing, text);
}

void fill(Column& column, const std::vector<bool>& missing, double number) {
  TW_REQUIRE(!std::holds_alternative<Texts>(column.values), "impute: column '", column.name,
             "' holds text, and a number is to fill it");
  if (auto* integers = std::get_if<Integers>(&column.values)) {
    if (number == std::floor(number) && std::abs(number) < 0x1p53) {
      fill(*integers, missing, static_cast<int64_t>(number));
      return;
    }
    column.values = Numbers(integers->begin(), integers->end());
  }
  fill(std::get<Numbers>(column.values), missing, number);
}

void apply(const Impute& f, std::vector<Column>& columns) {
  Column& column = find_column(columns, f.column);
  const std::vector<bool> missing = missing_in(column);
  std::visit([&](const auto& value) { fill(column, missing, value); }, f.value);
  column.missing.clear();
  if (f.indicator) columns.push_back({name_of_indicator(f), Numbers(missing.begin(), missing.end())});
}

}  // namespace

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
