// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "data/features/columns.h"

namespace thalweg::data {

/// What a feature learns of rows, gathered in parts that may lie on different machines.
class FeatureStatistic {
 public:
  virtual ~FeatureStatistic() = default;
  /// Takes in some rows, as they are before the feature.
  virtual void see(const std::vector<Column>& columns) = 0;
  /// What was seen, for another of the same feature to merge.
  virtual nlohmann::json state() const = 0;
  virtual void merge(const nlohmann::json& state) = 0;
  /// Writes what was learned into the feature. Throws if nothing was seen and that does not do.
  virtual void teach(Feature& feature) const = 0;
};

/// Null if the feature has nothing to learn.
std::unique_ptr<FeatureStatistic> statistic_for(const Feature& feature);

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

}  // namespace thalweg::data
