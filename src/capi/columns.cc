// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "capi/columns.h"

#include <cstring>

#include "thalweg/error.h"

namespace thalweg::capi {
namespace {

std::vector<std::string> texts_from(const tw_row_column& column, int64_t rows) {
  TW_REQUIRE(column.offsets != nullptr, "column '", column.name, "' holds texts, but does not say where each begins");
  const auto* bytes = static_cast<const char*>(column.values);
  std::vector<std::string> texts;
  texts.reserve(static_cast<size_t>(rows));
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t begin = column.offsets[row], end = column.offsets[row + 1];
    TW_REQUIRE(begin >= 0 && begin <= end, "column '", column.name, "': the text of row ", row,
               " ends before it begins");
    texts.emplace_back(begin == end ? "" : bytes + begin, static_cast<size_t>(end - begin));
  }
  return texts;
}

template <typename T>
std::vector<T> numbers_from(const tw_row_column& column, int64_t rows) {
  std::vector<T> numbers(static_cast<size_t>(rows));
  // The caller's buffer need not be aligned.
  if (rows > 0) std::memcpy(numbers.data(), column.values, numbers.size() * sizeof(T));
  return numbers;
}

data::Column column_from(const tw_row_column& column, int64_t rows) {
  TW_REQUIRE(column.name != nullptr, "a column has no name");
  TW_REQUIRE(column.values != nullptr || rows == 0, "the values of column '", column.name, "' are a null pointer");
  std::vector<bool> missing;
  if (column.missing != nullptr) missing.assign(column.missing, column.missing + rows);
  switch (column.dtype) {
    case TW_F64: return {column.name, numbers_from<double>(column, rows), std::move(missing)};
    case TW_I64: return {column.name, numbers_from<int64_t>(column, rows), std::move(missing)};
    case TW_TEXT: return {column.name, texts_from(column, rows), std::move(missing)};
    default: raise("column '", column.name, "' is of element type ", column.dtype, "; f64, i64 and texts are taken");
  }
}

}  // namespace

std::vector<data::Column> columns_from(const tw_row_column* columns, size_t count, int64_t rows) {
  TW_REQUIRE(columns != nullptr || count == 0, "the columns are a null pointer");
  TW_REQUIRE(rows >= 0, "there cannot be ", rows, " rows");
  std::vector<data::Column> result;
  for (size_t i = 0; i < count; ++i) result.push_back(column_from(columns[i], rows));
  return result;
}

}  // namespace thalweg::capi
