// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "data/features/columns.h"
#include "data/features/kinds.h"
#include "data/features/value_counts.h"

namespace thalweg::data {
namespace {

constexpr int64_t kMostBins = 100'000;

class Edges final : public OfKind<QuantileBin> {
 public:
  using OfKind::OfKind;
  nlohmann::json state() const override { return values_.state(); }
  void merge(const nlohmann::json& state) override { values_.merge(state); }

 protected:
  void see(const Column& column) override {
    for (const double value : finite_numbers_of(column)) values_.add(value);
  }
  void teach(QuantileBin& feature) const override {
    require_rows(values_.total());
    feature.edges.clear();
    for (int64_t bin = 1; bin < feature.bins; ++bin) {
      const double edge = values_.at(static_cast<double>(bin) / static_cast<double>(feature.bins));
      if (feature.edges.empty() || edge > feature.edges.back()) feature.edges.push_back(edge);
    }
  }

 private:
  ValueCounts values_;
};

}  // namespace

void apply(const QuantileBin& f, std::vector<Column>& columns) {
  Column& column = find_column(columns, f.column);
  Integers bins;
  for (const double value : numbers_of(column)) {
    TW_REQUIRE(!std::isnan(value), "column '", f.column, "' holds nan in row ", bins.size(), ", which is in no bin");
    bins.push_back(std::upper_bound(f.edges.begin(), f.edges.end(), value) - f.edges.begin());
  }
  column.values = std::move(bins);
}

std::unique_ptr<FeatureStatistic> statistic_of(const QuantileBin& f) { return std::make_unique<Edges>(f); }

const char* complaint_of(const QuantileBin& f) {
  if (f.bins < 2 || f.bins > kMostBins) return "bins must be in [2, 100000]";
  const bool finite = std::all_of(f.edges.begin(), f.edges.end(), [](double edge) { return std::isfinite(edge); });
  const bool rising = std::adjacent_find(f.edges.begin(), f.edges.end(), std::greater_equal<>()) == f.edges.end();
  return finite && rising ? nullptr : "edges must be numbers, each larger than the one before";
}

}  // namespace thalweg::data
