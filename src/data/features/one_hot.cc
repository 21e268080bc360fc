// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "data/features/columns.h"
#include "data/features/kinds.h"

namespace thalweg::data {
namespace {

class Largest final : public OfKind<OneHot> {
 public:
  using OfKind::OfKind;
  nlohmann::json state() const override { return size_; }
  void merge(const nlohmann::json& state) override { size_ = std::max(size_, state.get<int64_t>()); }

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

}  // namespace

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

std::unique_ptr<FeatureStatistic> statistic_of(const OneHot& f) {
  return f.size > 0 ? nullptr : std::make_unique<Largest>(f);
}

const char* complaint_of(const OneHot& f) {
  return f.size >= 0 && f.size <= kMostOneHot ? nullptr : "size must be in [0, 1000000]";
}

}  // namespace thalweg::data
