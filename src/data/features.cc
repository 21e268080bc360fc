// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/features.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "base/text.h"
#include "data/features_json.h"

namespace thalweg::data {
namespace {

using Numbers = std::vector<double>;
using Integers = std::vector<int64_t>;
using Texts = std::vector<std::string>;

template <typename Columns>
auto& find_column(Columns& columns, const std::string& name) {
  for (auto& column : columns) {
    if (column.name == name) return column;
  }
  std::vector<std::string> known;
  for (auto& column : columns) known.push_back(column.name);
  raise("there is no column '", name, "'; near: ", nearest_names(name, known));
}

/// Categories as text, which whole numbers have as well.
Texts texts_of(const Column& column) {
  if (const auto* texts = std::get_if<Texts>(&column.values)) return *texts;
  const auto* integers = std::get_if<Integers>(&column.values);
  TW_REQUIRE(integers != nullptr, "column '", column.name, "' holds fractions, which are no categories");
  Texts result;
  for (const int64_t value : *integers) result.push_back(std::to_string(value));
  return result;
}

Numbers numbers_of(const Column& column) {
  if (const auto* numbers = std::get_if<Numbers>(&column.values)) return *numbers;
  const auto* integers = std::get_if<Integers>(&column.values);
  TW_REQUIRE(integers != nullptr, "column '", column.name, "' holds text: index or hash it first");
  return {integers->begin(), integers->end()};
}

/// To learn from: one NaN would make a NaN of everything that is scaled by it.
Numbers finite_numbers_of(const Column& column) {
  Numbers values = numbers_of(column);
  for (size_t row = 0; row < values.size(); ++row) {
    TW_REQUIRE(std::isfinite(values[row]), "column '", column.name, "' holds ", values[row], " in row ", row,
               ": leave such rows out or fill them");
  }
  return values;
}

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

void fit(StringIndex& f, const std::vector<Column>& columns) {
  const Texts texts = texts_of(find_column(columns, f.column));
  const std::set<std::string> seen(texts.begin(), texts.end());
  f.categories.assign(seen.begin(), seen.end());
}

void fit(MinMaxScale& f, const std::vector<Column>& columns) {
  const Numbers values = finite_numbers_of(find_column(columns, f.column));
  TW_REQUIRE(!values.empty(), "column '", f.column, "' has no rows to fit to");
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  f.low = *low;
  f.high = *high;
}

void fit(StandardScale& f, const std::vector<Column>& columns) {
  const Numbers values = finite_numbers_of(find_column(columns, f.column));
  TW_REQUIRE(!values.empty(), "column '", f.column, "' has no rows to fit to");
  const auto count = static_cast<double>(values.size());
  f.mean = 0;
  for (const double value : values) f.mean += value / count;
  double squares = 0;
  for (const double value : values) squares += (value - f.mean) * (value - f.mean) / count;
  f.deviation = std::sqrt(squares);
}

void fit(OneHot& f, const std::vector<Column>& columns) {
  if (f.size > 0) return;
  for (const double value : finite_numbers_of(find_column(columns, f.column))) {
    TW_REQUIRE(value < static_cast<double>(kMostOneHot), "column '", f.column, "': ", value,
               " is too large for one-hot");
    f.size = std::max(f.size, static_cast<int64_t>(value) + 1);
  }
}

template <typename F>
void fit(F& /*nothing to learn*/, const std::vector<Column>& /*columns*/) {}

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

}  // namespace

int64_t Column::rows() const {
  return std::visit([](const auto& all) { return static_cast<int64_t>(all.size()); }, values);
}

Features::Features(std::vector<Feature> features) : features_(std::move(features)) {
  for (const Feature& feature : features_) check_feature(feature);
}

void Features::fit(std::vector<Column>& columns) {
  for (Feature& feature : features_) {
    std::visit([&](auto& f) { data::fit(f, columns); }, feature);
    std::visit([&](const auto& f) { data::apply(f, columns); }, feature);
  }
}

void Features::apply(std::vector<Column>& columns) const {
  for (const Feature& feature : features_) std::visit([&](const auto& f) { data::apply(f, columns); }, feature);
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
