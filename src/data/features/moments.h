// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

#include "data/features/columns.h"

namespace thalweg::data {

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
  void merge(const nlohmann::json& state) {
    add(state.at("mean").get<double>(), state.at("squares").get<double>(), state.at("rows").get<int64_t>());
  }
  nlohmann::json state() const { return {{"mean", mean_}, {"squares", squares_}, {"rows", rows_}}; }

  int64_t rows() const { return rows_; }
  double mean() const { return mean_; }
  double deviation() const { return std::sqrt(squares_ / static_cast<double>(rows_)); }

 private:
  double mean_ = 0, squares_ = 0;
  int64_t rows_ = 0;
};

}  // namespace thalweg::data
