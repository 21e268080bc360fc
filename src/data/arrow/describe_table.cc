// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/describe_table.h"

#include <arrow/array.h>
#include <arrow/compute/cast.h>
#include <arrow/record_batch.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_set>

#include "data/arrow/files.h"
#include "data/arrow/result.h"

namespace thalweg::data {
namespace {

namespace ds = arrow::dataset;

bool is_number(const arrow::DataType& type) {
  return arrow::is_numeric(type.id()) || arrow::is_decimal(type.id()) || type.id() == arrow::Type::BOOL;
}

std::shared_ptr<arrow::Array> cast(const std::shared_ptr<arrow::Array>& array,
                                   const std::shared_ptr<arrow::DataType>& type, const std::string& what) {
  // Large integers may lose digits that statistics do not need.
  return value_of(arrow::compute::Cast(*array, type, arrow::compute::CastOptions::Unsafe()), what);
}

/// Gathers what is to be said about one column.
class ColumnSurvey {
 public:
  ColumnSurvey(const arrow::Field& field, const std::string& uri)
      : what_(uri + ": column '" + field.name() + "'"), type_(field.type()) {
    result_.name = field.name();
    result_.type = type_->ToString();
    can_count_ =
        is_number(*type_) || arrow::is_base_binary_like(type_->id()) || arrow::compute::CanCast(*type_, *arrow::utf8());
  }

  void add(const std::shared_ptr<arrow::Array>& array) {
    result_.nulls += array->null_count();
    if (is_number(*type_)) {
      add_numbers(array);
    } else if (can_count_) {
      add_texts(array);
    }
  }

  ColumnStatistics finish() {
    if (can_count_) result_.distinct = static_cast<int64_t>(seen_.size());
    if (count_ > 0) {
      result_.numbers = {min_, max_, mean_, std::sqrt(squares_ / static_cast<double>(count_))};
    }
    return std::move(result_);
  }

 private:
  void add_numbers(const std::shared_ptr<arrow::Array>& array) {
    const bool truth = type_->id() == arrow::Type::BOOL;
    const auto whole = truth ? cast(array, arrow::uint8(), what_) : array;
    const auto numbers = std::static_pointer_cast<arrow::DoubleArray>(cast(whole, arrow::float64(), what_));
    for (int64_t i = 0; i < numbers->length(); ++i) {
      if (numbers->IsValid(i)) add_number(numbers->Value(i));
    }
  }

  void add_number(double value) {
    if (std::isnan(value)) {
      ++result_.nans;
      return;
    }
    min_ = count_ > 0 ? std::min(min_, value) : value;
    max_ = count_ > 0 ? std::max(max_, value) : value;
    ++count_;
    // Welford's way loses no digits where the mean is large.
    const double distance = value - mean_;
    mean_ += distance / static_cast<double>(count_);
    squares_ += distance * (value - mean_);
    see(std::hash<double>{}(value));
  }

  void add_texts(const std::shared_ptr<arrow::Array>& array) {
    const bool is_text = type_->id() == arrow::Type::STRING || type_->id() == arrow::Type::BINARY;
    const auto texts =
        std::static_pointer_cast<arrow::BinaryArray>(is_text ? array : cast(array, arrow::utf8(), what_));
    for (int64_t i = 0; i < texts->length(); ++i) {
      if (texts->IsValid(i)) see(std::hash<std::string_view>{}(texts->GetView(i)));
    }
  }

  /// Values are told apart by 64 bits of hash: among 100,000 two share one in less than one of a billion columns.
  void see(size_t hash) {
    if (static_cast<int64_t>(seen_.size()) < kMostDistinct) seen_.insert(hash);
  }

  const std::string what_;
  const std::shared_ptr<arrow::DataType> type_;
  ColumnStatistics result_;
  bool can_count_ = false;
  std::unordered_set<size_t> seen_;
  int64_t count_ = 0;
  double min_ = 0, max_ = 0, mean_ = 0, squares_ = 0;
};

int64_t known_rows(const TableFiles& files) {
  if (files.format != TableFormat::kParquet) return 0;
  int64_t rows = 0;
  for (const RowGroup& group : row_groups(files)) rows += group.rows;
  return rows;
}

}  // namespace

TableStatistics describe_table(const std::string& uri, TableFormat format, const Progress& progress) {
  const TableOptions options{.inputs = {}, .format = format};
  const TableFiles files = open_files(find_files(uri, options), options);
  std::vector<ColumnSurvey> surveys;
  const std::string& name = files.uri;
  for (const auto& field : files.dataset->schema()->fields()) surveys.emplace_back(*field, name);
  ds::ScannerBuilder builder(files.dataset);
  require_ok(builder.UseThreads(true), name);
  auto batches = value_of(value_of(builder.Finish(), name)->ScanBatches(), name);
  const int64_t all = known_rows(files);
  TableStatistics result;
  result.files = static_cast<int64_t>(files.fragments.size());
  for (;;) {
    const ds::TaggedRecordBatch tagged = value_of(batches.Next(), name);
    if (arrow::IsIterationEnd(tagged)) break;
    for (size_t i = 0; i < surveys.size(); ++i) surveys[i].add(tagged.record_batch->column(static_cast<int>(i)));
    result.rows += tagged.record_batch->num_rows();
    if (progress) progress(result.rows, all);
  }
  for (ColumnSurvey& survey : surveys) result.columns.push_back(survey.finish());
  return result;
}

}  // namespace thalweg::data
