// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "thalweg/tensor.h"

/// What is done to columns of tables before they are tensors.
namespace thalweg::data {

/// A column in memory.
struct Column {
  std::string name;
  std::variant<std::vector<double>, std::vector<int64_t>, std::vector<std::string>> values;
  /// True for each row without a value, whatever stands in `values` there; empty if all rows have one. NaN among
  /// fractions is a missing value too.
  std::vector<bool> missing = {};
  int64_t rows() const;
};

/// Texts (or whole numbers) to 0, 1, ... in the order of their bytes; what was not seen while fitting gets the number
/// after the last.
struct StringIndex {
  std::string column;
  std::vector<std::string> categories = {};
  /// What is seen less often while fitting is left out, and of the rest all but so many that are seen most often; those
  /// seen equally often are taken in the order of their bytes. 0: any number.
  int64_t min_count = 1;
  int64_t most = 0;
};

/// To [0, 1]; values beyond what was seen while fitting come out beyond that.
struct MinMaxScale {
  std::string column;
  double low = 0;
  double high = 1;
};

/// To mean 0 and deviation 1 (that of the values seen, divided by their number).
struct StandardScale {
  std::string column;
  double mean = 0;
  double deviation = 1;
};

/// Texts or whole numbers to [0, buckets), by a hash that is the same everywhere.
struct HashBucket {
  std::string column;
  int64_t buckets = 1000;
};

/// The combination of several columns to a new column `name` in [0, buckets).
struct CrossHash {
  std::vector<std::string> columns;
  std::string name;
  int64_t buckets = 1000;
};

/// One-hot columns that a column may become.
inline constexpr int64_t kMostOneHot = 1'000'000;

/// Whole numbers in [0, size) to columns `column`_0, `column`_1, ... of which one is 1; others to zeros only. A size of
/// 0 is found while fitting.
struct OneHot {
  std::string column;
  int64_t size = 0;
};

/// Puts a value where one is missing. A column of whole numbers becomes one of fractions if that value is a fraction,
/// also where none is missing. It comes before other changes to its column.
struct Impute {
  enum class With { kMean, kMedian, kMostFrequent, kConstant };
  std::string column;
  /// What `value` becomes while fitting, of the values that are there; of several that are equally frequent the
  /// smallest. Texts have neither mean nor median.
  With with = With::kMean;
  std::variant<double, std::string> value = 0.0;
  /// Whether a column `column`_missing of zeros and ones tells where a value was missing.
  bool indicator = false;
};

/// Numbers to the bins 0, 1, ... that have about as many of the values seen while fitting each. Bin i holds what is at
/// least edges[i - 1] and less than edges[i]; equal edges are one, so there may be fewer bins than asked for.
struct QuantileBin {
  std::string column;
  int64_t bins = 10;
  std::vector<double> edges = {};
};

/// x to log(1 + |x|) with the sign of x: long tails become short.
struct Log {
  std::string column;
};

/// x to |x|^exponent with the sign of x.
struct Power {
  std::string column;
  double exponent = 0.5;
};

/// A point in time to whole numbers in columns `column`_year and so on; the column itself is gone. It is seconds since
/// 1970 in UTC, as dates and timestamps of tables are read, or a text as "2026-03-01", "2026-03-01 14:05" or
/// "2026-03-01T14:05:09Z".
struct DateParts {
  std::string column;
  /// Of "year", "month" (1 to 12), "day" (1 to 31), "weekday" (0 is Monday), "day_of_year" (1 to 366), "hour",
  /// "minute".
  std::vector<std::string> parts = {"year", "month", "day", "weekday"};
};

using Feature = std::variant<StringIndex, MinMaxScale, StandardScale, HashBucket, CrossHash, OneHot, Impute,
                             QuantileBin, Log, Power, DateParts>;

/// Changes to columns, in order. Fitted once to the training data, then the same for every other table, also after a
/// way through JSON.
class Features {
 public:
  Features() = default;
  /// Throws Error naming the feature and the parameter that makes no sense.
  explicit Features(std::vector<Feature> features);

  /// Learns from these columns what each change needs to know, and changes them. A number that is not finite, or a
  /// missing value that is not imputed, is an Error that names its column and row.
  void fit(std::vector<Column>& columns);
  void apply(std::vector<Column>& columns) const;
  const std::vector<Feature>& features() const { return features_; }

  /// The changes from which these columns come, without those that concern others alone, such as the label's, which
  /// rows to predict for do not have.
  Features for_columns(const std::vector<std::string>& names) const;
  /// The columns that must be there for `apply`, and for these to be among what it leaves.
  std::vector<std::string> sources(const std::vector<std::string>& names = {}) const;
  /// Those of the columns at the beginning that may lack values: they are imputed before anything else is done to them.
  std::vector<std::string> imputed() const;

  /// [{"kind": "string_index", "column": "city", "categories": [...]}, ...]. What is absent keeps its default; unknown
  /// kinds and keys, and what the constructor rejects, are errors.
  std::string to_json() const;
  static Features from_json(const std::string& text);

 private:
  std::vector<Feature> features_;
};

/// [rows, names] of columns that hold numbers.
Tensor to_tensor(const std::vector<Column>& columns, const std::vector<std::string>& names, DType dtype = DType::kF32);

}  // namespace thalweg::data
