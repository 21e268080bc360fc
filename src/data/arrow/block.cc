// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/arrow/block.h"

#include <arrow/array.h>
#include <arrow/compute/cast.h>
#include <xmmintrin.h>

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

/// Four rows of four columns of four bytes each, which four instructions transpose.
template <typename T>
void interleave_square(const T* const* columns, int64_t row, T* out, int64_t width) {
  static_assert(sizeof(T) == sizeof(float));
  const auto load = [&](size_t c) { return _mm_loadu_ps(reinterpret_cast<const float*>(columns[c] + row)); };
  __m128 a = load(0);
  __m128 b = load(1);
  __m128 c = load(2);
  __m128 d = load(3);
  _MM_TRANSPOSE4_PS(a, b, c, d);
  const auto store = [&](int64_t r, __m128 v) { _mm_storeu_ps(reinterpret_cast<float*>(out + (row + r) * width), v); };
  store(0, a);
  store(1, b);
  store(2, c);
  store(3, d);
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
      if constexpr (sizeof(T) == sizeof(float)) {
        if ((c1 - c0) % 4 == 0 && (r1 - r0) % 4 == 0) {
          for (size_t c = c0; c < c1; c += 4) {
            T* out_column = out + static_cast<int64_t>(c);
            for (int64_t r = r0; r < r1; r += 4) interleave_square(columns.data() + c, r, out_column, width);
          }
          continue;
        }
      }
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

namespace {

std::vector<TensorColumns> all_tensors(const TableOptions& options) {
  std::vector<TensorColumns> result = options.inputs;
  result.insert(result.end(), options.targets.begin(), options.targets.end());
  return result;
}

}  // namespace

BlockMaker::BlockMaker(const TableOptions& options, std::string where, size_t keep)
    : options_(options), tensors_(all_tensors(options)), where_(std::move(where)), keep_(keep) {}

Block BlockMaker::take(int64_t rows) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto fits = [&](const Block& block) { return block.rows == rows; };
    const auto found = std::find_if(unused_.begin(), unused_.end(), fits);
    if (found != unused_.end()) {
      Block block = std::move(*found);
      unused_.erase(found);
      return block;
    }
  }
  Block block;
  block.rows = rows;
  for (const TensorColumns& spec : tensors_) {
    block.tensors.emplace_back(spec.dtype, Shape{rows, static_cast<int64_t>(spec.columns.size())});
  }
  return block;
}

void BlockMaker::give_back(Block block) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (unused_.size() < keep_) unused_.push_back(std::move(block));
}

std::shared_ptr<Block> BlockMaker::allocate(int64_t rows) {
  return {new Block(take(rows)), [maker = shared_from_this()](Block* old) {
            maker->give_back(std::move(*old));
            delete old;
          }};
}

BlockPtr BlockMaker::make(const arrow::RecordBatch& columns, int64_t first_row) {
  const std::shared_ptr<Block> block = allocate(columns.num_rows());
  const Converter converter(columns, options_, where_, first_row);
  for (size_t i = 0; i < tensors_.size(); ++i) {
    switch (tensors_[i].dtype) {
      case DType::kF32: converter.convert<float>(tensors_[i], block->tensors[i]); break;
      case DType::kF64: converter.convert<double>(tensors_[i], block->tensors[i]); break;
      case DType::kI32: converter.convert<int32_t>(tensors_[i], block->tensors[i]); break;
      default: converter.convert<int64_t>(tensors_[i], block->tensors[i]); break;
    }
  }
  return block;
}

}  // namespace thalweg::data
