// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "data/features/columns.h"
#include "data/features/kinds.h"
#include "data/features/moments.h"

namespace thalweg::data {
namespace {

class Range final : public OfKind<MinMaxScale> {
 public:
  using OfKind::OfKind;
  nlohmann::json state() const override { return {{"rows", rows_}, {"low", low_}, {"high", high_}}; }
  void merge(const nlohmann::json& state) override {
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

class MeanAndDeviation final : public OfKind<StandardScale> {
 public:
  using OfKind::OfKind;
  nlohmann::json state() const override { return moments_.state(); }
  void merge(const nlohmann::json& state) override { moments_.merge(state); }

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

void scale(std::vector<Column>& columns, const std::string& name, double from, double width) {
  Column& column = find_column(columns, name);
  Numbers values = numbers_of(column);
  // A column of one value carries nothing: 0.
  for (double& value : values) value = width == 0 ? 0 : (value - from) / width;
  column.values = std::move(values);
}

}  // namespace

void apply(const MinMaxScale& f, std::vector<Column>& columns) { scale(columns, f.column, f.low, f.high - f.low); }
void apply(const StandardScale& f, std::vector<Column>& columns) { scale(columns, f.column, f.mean, f.deviation); }

std::unique_ptr<FeatureStatistic> statistic_of(const MinMaxScale& f) { return std::make_unique<Range>(f); }
std::unique_ptr<FeatureStatistic> statistic_of(const StandardScale& f) { return std::make_unique<MeanAndDeviation>(f); }

const char* complaint_of(const MinMaxScale& f) {
  const bool good = std::isfinite(f.low) && std::isfinite(f.high) && f.low <= f.high;
  return good ? nullptr : "low and high must be numbers, the smaller first";
}

const char* complaint_of(const StandardScale& f) {
  const bool good = std::isfinite(f.mean) && std::isfinite(f.deviation) && f.deviation >= 0;
  return good ? nullptr : "mean and deviation must be numbers, the deviation not negative";
}

}  // namespace thalweg::data
