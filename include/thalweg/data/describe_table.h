// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "thalweg/data/describe.h"
#include "thalweg/data/table.h"

/// In the library thalweg_arrow, as data/table.h.
namespace thalweg::data {

/// Of the numbers of a column that are neither null nor NaN; truth values count as 0 and 1.
struct NumberStatistics {
  double min = 0, max = 0, mean = 0;
  /// Of the numbers as a whole, not an estimate from a sample.
  double deviation = 0;
};

struct ColumnStatistics {
  std::string name;
  std::string type;  ///< as Arrow writes it
  int64_t nulls = 0;
  int64_t nans = 0;
  /// Different values beside null; no more are counted than kMostDistinct, and nothing is for lists and records.
  std::optional<int64_t> distinct;
  /// Nothing for columns of something else, and for those without a number.
  std::optional<NumberStatistics> numbers;
};

struct TableStatistics {
  int64_t files = 0;
  int64_t rows = 0;
  std::vector<ColumnStatistics> columns;
};

inline constexpr int64_t kMostDistinct = 100'000;

/// Reads all of a table, of any size, and describes its columns. `progress` gets the rows done and of all (0 if the
/// format does not say), now and then.
TableStatistics describe_table(const std::string& uri, TableFormat format = TableFormat::kAuto,
                               const Progress& progress = {});

}  // namespace thalweg::data
