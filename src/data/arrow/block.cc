// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/arrow/block.h"

#include <arrow/array.h>
#include <arrow/compute/cast.h>
#include <arrow/util/bitmap_ops.h>

#include <algorithm>

#include "data/arrow/arrow_types.h"
#include "data/arrow/result.h"

namespace thalweg::data {
namespace {

/// Source of one column: values that are all valid.
struct Values {
  std::shared_ptr<arrow::Array> owner;
  const void* data = nullptr;
  std::vector<char> filled;  ///< the values, if nulls had to be filled in
};

class Converter {
 public:
  Converter(const arrow::RecordBatch& columns, const TableOptions& options, const std::string& where, int64_t first_row)
      : columns_(columns), options_(options), where_(where), first_row_(first_row) {}

  template <typename T>
  void convert(const TensorColumns& spec, const Tensor& tensor) const {
    std::vector<Values> values;
    std::vector<const T*> pointers;
    for (const std::string& name : spec.columns) values.push_back(column<T>(name));
    for (const Values& v : values) pointers.push_back(static_cast<const T*>(v.data));
    interleave(pointers, columns_.num_rows(), tensor.data<T>());
  }

 private:
  template <typename T>
  Values column(const std::string& name) const;
  template <typename T>
  void fill_nulls(Values& values) const;
  template <typename T>
  static void interleave(const std::vector<const T*>& columns, int64_t rows, T* out);

  const arrow::RecordBatch& columns_;
  const TableOptions& options_;
  const std::string& where_;
  const int64_t first_row_;
};

template <typename T>
Values Converter::column(const std::string& name) const {
  const std::string what = where_ + ": column '" + name + "'";
  std::shared_ptr<arrow::Array> array = columns_.GetColumnByName(name);
  TW_REQUIRE(array != nullptr, what, " is missing");
  const auto type = arrow_type(dtype_of<T>);
  if (!array->type()->Equals(*type)) {
    TW_REQUIRE(arrow::is_primitive(array->type_id()) || arrow::is_decimal(array->type_id()), what, " holds ",
               array->type()->ToString(), ", which is no number");
    array = value_of(arrow::compute::Cast(*array, type, arrow::compute::CastOptions::Unsafe()), what);
  }
  Values values{array, array->data()->GetValues<T>(1), {}};
  if (array->null_count() == 0) return values;
  if (options_.nulls == Nulls::kFail) {
    int64_t row = 0;
    while (array->IsValid(row)) ++row;
    raise(what, " is null in row ", first_row_ + row, "; set TableOptions::nulls to fill it");
  }
  fill_nulls<T>(values);
  return values;
}

template <typename T>
void Converter::fill_nulls(Values& values) const {
  const auto rows = static_cast<size_t>(values.owner->length());
  values.filled.resize(rows * sizeof(T));
  T* out = reinterpret_cast<T*>(values.filled.data());
  const T* in = static_cast<const T*>(values.data);
  for (size_t i = 0; i < rows; ++i) {
    out[i] = values.owner->IsValid(static_cast<int64_t>(i)) ? in[i] : static_cast<T>(options_.fill);
  }
  values.data = out;
}

/// Columns to rows, in squares that stay in the cache both ways.
template <typename T>
void Converter::interleave(const std::vector<const T*>& columns, int64_t rows, T* out) {
  constexpr int64_t kRows = 64;
  constexpr size_t kColumns = 64 / sizeof(T);
  const auto width = static_cast<int64_t>(columns.size());
  for (int64_t r0 = 0; r0 < rows; r0 += kRows) {
    const int64_t r1 = std::min(rows, r0 + kRows);
    for (size_t c0 = 0; c0 < columns.size(); c0 += kColumns) {
      const size_t c1 = std::min(columns.size(), c0 + kColumns);
      for (int64_t r = r0; r < r1; ++r) {
        T* row = out + r * width;
        for (size_t c = c0; c < c1; ++c) row[c] = columns[c][r];
      }
    }
  }
}

}  // namespace

int64_t Block::bytes() const {
  int64_t sum = 0;
  for (const Tensor& tensor : tensors) sum += static_cast<int64_t>(tensor.num_bytes());
  return sum;
}

Block make_block(const arrow::RecordBatch& columns, const std::vector<TensorColumns>& tensors,
                 const TableOptions& options, const std::string& where, int64_t first_row) {
  Block block;
  block.rows = columns.num_rows();
  const Converter converter(columns, options, where, first_row);
  for (const TensorColumns& spec : tensors) {
    const Tensor tensor(spec.dtype, {block.rows, static_cast<int64_t>(spec.columns.size())});
    switch (spec.dtype) {
      case DType::kF32: converter.convert<float>(spec, tensor); break;
      case DType::kF64: converter.convert<double>(spec, tensor); break;
      case DType::kI32: converter.convert<int32_t>(spec, tensor); break;
      default: converter.convert<int64_t>(spec, tensor); break;
    }
    block.tensors.push_back(tensor);
  }
  return block;
}

}  // namespace thalweg::data
