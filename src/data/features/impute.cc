// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>

#include "data/features/columns.h"
#include "data/features/kinds.h"
#include "data/features/moments.h"
#include "data/features/value_counts.h"

namespace thalweg::data {
namespace {

/// Of the values that are there; the others are what is to be filled.
class Replacement final : public OfKind<Impute> {
 public:
  explicit Replacement(const Impute& feature) : OfKind(feature), with_(feature.with) {}

  nlohmann::json state() const override {
    return {{"mean", mean_.state()}, {"numbers", numbers_.state()}, {"texts", texts_}};
  }
  void merge(const nlohmann::json& state) override {
    mean_.merge(state.at("mean"));
    numbers_.merge(state.at("numbers"));
    for (const auto& [text, count] : state.at("texts").get<std::map<std::string, int64_t>>()) texts_[text] += count;
  }

 protected:
  void see(const Column& column) override {
    if (const auto* texts = std::get_if<Texts>(&column.values)) {
      TW_REQUIRE(with_ == Impute::With::kMostFrequent, "impute: column '", column.name,
                 "' holds text, which has no mean or median: with most_frequent or constant");
      for (size_t row = 0; row < texts->size(); ++row) {
        if (!is_missing(column, row)) ++texts_[(*texts)[row]];
      }
      return;
    }
    const auto* numbers = std::get_if<Numbers>(&column.values);
    const auto* integers = std::get_if<Integers>(&column.values);
    for (size_t row = 0; row < static_cast<size_t>(column.rows()); ++row) {
      const double value = numbers != nullptr ? (*numbers)[row] : static_cast<double>((*integers)[row]);
      if (is_missing(column, row) || std::isnan(value)) continue;
      if (with_ == Impute::With::kMean) {
        mean_.add(value, 0, 1);
      } else {
        numbers_.add(value);
      }
    }
  }

  void teach(Impute& feature) const override {
    const bool has_texts = !texts_.empty();
    require_rows(has_texts ? 1 : with_ == Impute::With::kMean ? mean_.rows() : numbers_.total());
    if (has_texts) {
      feature.value = std::max_element(texts_.begin(), texts_.end(), [](const auto& a, const auto& b) {
                        return a.second < b.second;
                      })->first;
    } else {
      feature.value = with_ == Impute::With::kMean     ? mean_.mean()
                      : with_ == Impute::With::kMedian ? numbers_.at(0.5)
                                                       : numbers_.most_frequent();
    }
  }

 private:
  static bool is_missing(const Column& column, size_t row) { return !column.missing.empty() && column.missing[row]; }

  const Impute::With with_;
  Moments mean_;
  ValueCounts numbers_;
  std::map<std::string, int64_t> texts_;
};

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

}  // namespace

void apply(const Impute& f, std::vector<Column>& columns) {
  Column& column = find_column(columns, f.column);
  const std::vector<bool> missing = missing_in(column);
  std::visit([&](const auto& value) { fill(column, missing, value); }, f.value);
  column.missing.clear();
  if (f.indicator) columns.push_back({name_of_indicator(f), Numbers(missing.begin(), missing.end())});
}

std::string name_of_indicator(const Impute& feature) { return feature.column + "_missing"; }

std::unique_ptr<FeatureStatistic> statistic_of(const Impute& f) {
  return f.with == Impute::With::kConstant ? nullptr : std::make_unique<Replacement>(f);
}

const char* complaint_of(const Impute& f) {
  const auto* number = std::get_if<double>(&f.value);
  if (number != nullptr) return std::isfinite(*number) ? nullptr : "value must be a number or a text";
  const bool of_numbers = f.with == Impute::With::kMean || f.with == Impute::With::kMedian;
  return of_numbers ? "a text is no mean and no median" : nullptr;
}

}  // namespace thalweg::data
