// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/feature_statistic.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "data/columns.h"

namespace thalweg::data {
namespace {

using nlohmann::json;

/// Of the feature kind `F`, whose only column is read.
template <typename F>
class OfKind : public FeatureStatistic {
 public:
  explicit OfKind(const F& feature) : column_(feature.column) {}

  void see(const std::vector<Column>& columns) final { see(find_column(columns, column_)); }
  void teach(Feature& feature) const final { teach(std::get<F>(feature)); }

 protected:
  virtual void see(const Column& column) = 0;
  virtual void teach(F& feature) const = 0;

  void require_rows(int64_t rows) const { TW_REQUIRE(rows > 0, "column '", column_, "' has no rows to fit to"); }
  const std::string& column() const { return column_; }

 private:
  const std::string column_;
};

class Categories final : public OfKind<StringIndex> {
 public:
  using OfKind::OfKind;
  json state() const override { return seen_; }
  void merge(const json& state) override { seen_.merge(state.get<std::set<std::string>>()); }

 protected:
  void see(const Column& column) override {
    for (std::string& text : texts_of(column)) seen_.insert(std::move(text));
  }
  void teach(StringIndex& feature) const override { feature.categories.assign(seen_.begin(), seen_.end()); }

 private:
  std::set<std::string> seen_;
};

class Range final : public OfKind<MinMaxScale> {
 public:
  using OfKind::OfKind;
  json state() const override { return {{"rows", rows_}, {"low", low_}, {"high", high_}}; }
  void merge(const json& state) override {
    const auto rows = state.at("rows").get<int64_t>();
    if (rows > 0) add(state.at("low").get<double>(), state.at("high").get<double>(), rows);
  }

 protected:
  void see(const Column& column) override {
    for (const double value : finite_numbers_of(column)) add(value, value, 1);
  }
  void teach(MinMaxScale& feature) const override {
    require_rows(rows_);
    feature.low = low_;
    feature.high = high_;
  }

 private:
  void add(double low, double high, int64_t rows) {
    low_ = rows_ == 0 ? low : std::min(low_, low);
    high_ = rows_ == 0 ? high : std::max(high_, high);
    rows_ += rows;
  }

  int64_t rows_ = 0;
  double low_ = 0, high_ = 0;
};

/// Mean and sum of squared deviations from it, of parts that are put together as Chan, Golub and LeVeque do: a large
/// mean costs no digits of the deviation.
class Moments {
 public:
  void add(double mean, double squares, int64_t rows) {
    if (rows == 0) return;
    const auto own = static_cast<double>(rows_), other = static_cast<double>(rows);
    const double distance = mean - mean_;
    mean_ += distance * other / (own + other);
    squares_ += squares + distance * distance * own * other / (own + other);
    rows_ += rows;
  }
  /// Rows at once, in two passes.
  void add(const Numbers& values) {
    if (values.empty()) return;
    const auto count = static_cast<double>(values.size());
    double mean = 0, squares = 0;
    for (const double value : values) mean += value / count;
    for (const double value : values) squares += (value - mean) * (value - mean);
    add(mean, squares, static_cast<int64_t>(values.size()));
  }
  void merge(const json& state) {
    add(state.at("mean").get<double>(), state.at("squares").get<double>(), state.at("rows").get<int64_t>());
  }
  json state() const { return {{"mean", mean_}, {"squares", squares_}, {"rows", rows_}}; }

  int64_t rows() const { return rows_; }
  double mean() const { return mean_; }
  double deviation() const { return std::sqrt(squares_ / static_cast<double>(rows_)); }

 private:
  double mean_ = 0, squares_ = 0;
  int64_t rows_ = 0;
};

class MeanAndDeviation final : public OfKind<StandardScale> {
 public:
  using OfKind::OfKind;
  json state() const override { return moments_.state(); }
  void merge(const json& state) override { moments_.merge(state); }

 protected:
  void see(const Column& column) override { moments_.add(finite_numbers_of(column)); }
  void teach(StandardScale& feature) const override {
    require_rows(moments_.rows());
    feature.mean = moments_.mean();
    feature.deviation = moments_.deviation();
  }

 private:
  Moments moments_;
};

class Largest final : public OfKind<OneHot> {
 public:
  using OfKind::OfKind;
  json state() const override { return size_; }
  void merge(const json& state) override { size_ = std::max(size_, state.get<int64_t>()); }

 protected:
  void see(const Column& column) override {
    for (const double value : finite_numbers_of(column)) {
      TW_REQUIRE(value < static_cast<double>(kMostOneHot), "column '", column.name, "': ", value,
                 " is too large for one-hot");
      size_ = std::max(size_, static_cast<int64_t>(value) + 1);
    }
  }
  void teach(OneHot& feature) const override { feature.size = size_; }

 private:
  int64_t size_ = 0;
};

/// Of the values that are there; the others are what is to be filled.
class Replacement final : public OfKind<Impute> {
 public:
  explicit Replacement(const Impute& feature) : OfKind(feature), with_(feature.with) {}

  json state() const override { return {{"mean", mean_.state()}, {"numbers", numbers_.state()}, {"texts", texts_}}; }
  void merge(const json& state) override {
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

std::unique_ptr<FeatureStatistic> make(const StringIndex& f) { return std::make_unique<Categories>(f); }
std::unique_ptr<FeatureStatistic> make(const MinMaxScale& f) { return std::make_unique<Range>(f); }
std::unique_ptr<FeatureStatistic> make(const StandardScale& f) { return std::make_unique<MeanAndDeviation>(f); }
std::unique_ptr<FeatureStatistic> make(const HashBucket& /*f*/) { return nullptr; }
std::unique_ptr<FeatureStatistic> make(const CrossHash& /*f*/) { return nullptr; }
std::unique_ptr<FeatureStatistic> make(const OneHot& f) { return f.size > 0 ? nullptr : std::make_unique<Largest>(f); }
std::unique_ptr<FeatureStatistic> make(const Impute& f) {
  return f.with == Impute::With::kConstant ? nullptr : std::make_unique<Replacement>(f);
}

}  // namespace

std::unique_ptr<FeatureStatistic> statistic_for(const Feature& feature) {
  return std::visit([](const auto& f) { return make(f); }, feature);
}

}  // namespace thalweg::data
