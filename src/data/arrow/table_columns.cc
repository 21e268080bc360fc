// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/table_columns.h"

#include <arrow/array.h>
#include <arrow/compute/cast.h>
#include <arrow/record_batch.h>
#include <arrow/util/byte_size.h>

#include <algorithm>

#include "base/text.h"
#include "data/arrow/result.h"
#include "data/arrow/scan.h"

namespace thalweg::data {
namespace {

namespace ds = arrow::dataset;

/// A point in time.
bool is_point_in_time(arrow::Type::type id) {
  return id == arrow::Type::TIMESTAMP || id == arrow::Type::DATE32 || id == arrow::Type::DATE64;
}

/// An empty column for values of that type.
Column empty_column(const arrow::Field& field, const std::string& uri) {
  const arrow::Type::type id = field.type()->id();
  if (arrow::is_floating(id) || arrow::is_decimal(id)) return {field.name(), std::vector<double>()};
  if (arrow::is_integer(id) || id == arrow::Type::BOOL || is_point_in_time(id))
    return {field.name(), std::vector<int64_t>()};
  TW_REQUIRE(arrow::is_base_binary_like(id) || id == arrow::Type::DICTIONARY, uri, ": column '", field.name(),
             "' holds ", field.type()->ToString(), ", which is neither number nor text");
  return {field.name(), std::vector<std::string>()};
}

/// Adds Arrow's values to a column's.
class Appender {
 public:
  Appender(const arrow::Array& array, const TableOptions& options, bool may_lack, std::string what)
      : array_(array), options_(options), may_lack_(may_lack), what_(std::move(what)) {}

  void operator()(std::vector<double>& values) const {
    append<arrow::DoubleArray>(arrow::float64(), options_.fill, values);
  }
  void operator()(std::vector<int64_t>& values) const {
    if (is_point_in_time(array_.type_id())) {
      const auto seconds = value_of(arrow::compute::Cast(array_, arrow::timestamp(arrow::TimeUnit::SECOND),
                                                         arrow::compute::CastOptions::Unsafe()),
                                    what_);
      Appender(*seconds, options_, may_lack_, what_).append_whole(values);
      return;
    }
    append_whole(values);
  }
  void append_whole(std::vector<int64_t>& values) const {
    append<arrow::Int64Array>(arrow::int64(), static_cast<int64_t>(options_.fill), values);
  }
  void operator()(std::vector<std::string>& values) const {
    append<arrow::LargeStringArray>(arrow::large_utf8(), std::string(), values);
  }

 private:
  template <typename Array, typename T>
  void append(const std::shared_ptr<arrow::DataType>& type, const T& fill, std::vector<T>& values) const {
    const auto cast = value_of(arrow::compute::Cast(array_, type), what_);
    const auto& typed = static_cast<const Array&>(*cast);
    for (int64_t row = 0; row < typed.length(); ++row) {
      TW_REQUIRE(may_lack_ || typed.IsValid(row) || options_.nulls == Nulls::kFill, what_, " is null in row ",
                 values.size(), kNullAdvice);
      values.push_back(typed.IsValid(row) ? T(typed.GetView(row)) : fill);
    }
  }

  const arrow::Array& array_;
  const TableOptions& options_;
  const bool may_lack_;
  const std::string what_;
};

void note_missing(const arrow::Array& array, Column& column) {
  for (int64_t row = 0; row < array.length(); ++row) column.missing.push_back(array.IsNull(row));
}

std::vector<Column> read_found(const FoundFiles& found, const std::vector<std::string>& columns,
                               const TableOptions& options, const std::vector<std::string>& may_lack) {
  const std::string& uri = found.uri;
  const ScanRequest request{columns, options.filter};
  const TableFiles files = open_files(found, options);
  check_columns(files, request);
  std::vector<Column> result;
  for (const std::string& name : columns) {
    result.push_back(empty_column(*files.dataset->schema()->GetFieldByName(name), uri));
  }
  ds::ScannerBuilder builder(files.dataset);
  auto batches = value_of(make_scanner(builder, request, true, uri)->ScanBatches(), uri);
  int64_t bytes = 0;
  for (;;) {
    const ds::TaggedRecordBatch tagged = value_of(batches.Next(), uri);
    if (arrow::IsIterationEnd(tagged)) return result;
    bytes += arrow::util::TotalBufferSize(*tagged.record_batch);
    TW_REQUIRE(bytes <= options.memory_bytes, uri, ": the columns take more than ",
               human_bytes(static_cast<double>(options.memory_bytes)), " (TableOptions::memory_bytes)");
    for (Column& column : result) {
      const auto array = tagged.record_batch->GetColumnByName(column.name);
      const bool lacks = std::find(may_lack.begin(), may_lack.end(), column.name) != may_lack.end();
      std::visit(Appender(*array, options, lacks, uri + ": column '" + column.name + "'"), column.values);
      if (lacks) note_missing(*array, column);
    }
  }
}

}  // namespace

std::vector<Column> read_columns(const std::string& address, const std::vector<std::string>& columns,
                                 const TableOptions& options, const std::vector<std::string>& may_lack) {
  TW_REQUIRE(!columns.empty(), without_secrets(address), ": no columns were chosen");
  const FoundFiles found = find_files(address, options);
  return naming_columns(found, [&] { return read_found(found, columns, options, may_lack); });
}

}  // namespace thalweg::data
