// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/arrow/numeric_parquet.h"

#include <arrow/dataset/file_parquet.h>
#include <arrow/io/file.h>
#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/statistics.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "data/arrow/interleave.h"
#include "data/arrow/result.h"

namespace thalweg::data {
namespace {

namespace ds = arrow::dataset;

/// Rows that are decoded of one column before the next one has its turn.
constexpr int64_t kRowsAtOnce = 1024;

/// A value that the tensor's type cannot hold: Arrow's way, which is taken instead, says which.
struct DoesNotFit {};

template <typename To, typename From>
To whole_as(From value) {
  if (value < std::numeric_limits<To>::min() || value > std::numeric_limits<To>::max()) throw DoesNotFit();
  return static_cast<To>(value);
}

/// The values of a column in turn, as T.
template <typename T>
class Column {
 public:
  virtual ~Column() = default;
  virtual void read(int64_t count, T* out) = 0;
};

template <typename T, typename ParquetType>
class TypedColumn : public Column<T> {
 public:
  explicit TypedColumn(const std::shared_ptr<parquet::ColumnReader>& reader)
      : reader_(std::static_pointer_cast<parquet::TypedColumnReader<ParquetType>>(reader)) {}

  void read(int64_t count, T* out) override {
    if constexpr (std::is_same_v<T, Value>) {
      fill(count, out);
    } else {
      values_.resize(static_cast<size_t>(count));
      fill(count, values_.data());
      std::transform(values_.begin(), values_.end(), out, [](Value value) {
        if constexpr (std::is_integral_v<T> && std::is_integral_v<Value> && sizeof(T) < sizeof(Value)) {
          return whole_as<T>(value);
        } else {
          return static_cast<T>(value);
        }
      });
    }
  }

 private:
  using Value = typename ParquetType::c_type;

  void fill(int64_t count, Value* out) {
    while (count > 0) {
      int64_t got = 0;
      // No levels are asked for: there are no nulls.
      if (reader_->HasNext()) reader_->ReadBatch(count, nullptr, nullptr, out, &got);
      if (got == 0) throw parquet::ParquetException("column '", reader_->descr()->name(), "' ends too early");
      out += got;
      count -= got;
    }
  }

  std::shared_ptr<parquet::TypedColumnReader<ParquetType>> reader_;
  std::vector<Value> values_;
};

template <typename T>
std::unique_ptr<Column<T>> make_column(const std::shared_ptr<parquet::ColumnReader>& reader) {
  switch (reader->type()) {
    case parquet::Type::INT32: return std::make_unique<TypedColumn<T, parquet::Int32Type>>(reader);
    case parquet::Type::INT64: return std::make_unique<TypedColumn<T, parquet::Int64Type>>(reader);
    case parquet::Type::FLOAT: return std::make_unique<TypedColumn<T, parquet::FloatType>>(reader);
    default: return std::make_unique<TypedColumn<T, parquet::DoubleType>>(reader);
  }
}

class GroupReader {
 public:
  GroupReader(parquet::ParquetFileReader& file, int number)
      : rows_(file.metadata()->RowGroup(number)->num_rows()),
        metadata_(file.metadata()->RowGroup(number)),
        reader_(file.RowGroup(number)) {}

  /// True if all columns of the tensor are plain numbers without nulls.
  bool can_read(const TensorColumns& tensor) const {
    const auto suits = [&](const std::string& name) { return is_plain(name, tensor.dtype); };
    return std::all_of(tensor.columns.begin(), tensor.columns.end(), suits);
  }

  template <typename T>
  void read(const TensorColumns& spec, T* out) {
    // A few lines of the cache side by side: fewer are filled in two goes because rows do not begin at their borders.
    constexpr size_t kColumns = 4 * kLineColumns<T>;
    const auto width = static_cast<int64_t>(spec.columns.size());
    for (size_t first = 0; first < spec.columns.size(); first += kColumns) {
      const size_t count = std::min(kColumns, spec.columns.size() - first);
      read_columns<T>(std::span(spec.columns).subspan(first, count), out + first, width);
    }
  }

 private:
  int index_of(const std::string& name) const { return metadata_->schema()->ColumnIndex(name); }

  bool is_plain(const std::string& name, DType wanted) const {
    const int index = index_of(name);
    if (index < 0) return false;
    const parquet::ColumnDescriptor& column = *metadata_->schema()->Column(index);
    const bool whole = column.physical_type() == parquet::Type::INT32 || column.physical_type() == parquet::Type::INT64;
    const bool floating =
        column.physical_type() == parquet::Type::FLOAT || column.physical_type() == parquet::Type::DOUBLE;
    const bool fits = whole || (floating && (wanted == DType::kF32 || wanted == DType::kF64));
    const bool meant_so = column.logical_type() == nullptr || column.logical_type()->is_none() ||
                          column.logical_type()->Equals(*parquet::LogicalType::Int(32, true)) ||
                          column.logical_type()->Equals(*parquet::LogicalType::Int(64, true));
    const bool flat = column.path()->ToDotVector().size() == 1 && column.max_repetition_level() == 0;
    return fits && meant_so && flat && (column.max_definition_level() == 0 || has_no_nulls(index));
  }

  bool has_no_nulls(int index) const {
    const auto chunk = metadata_->ColumnChunk(index);
    const auto statistics = chunk->is_stats_set() ? chunk->statistics() : nullptr;
    return statistics != nullptr && statistics->HasNullCount() && statistics->null_count() == 0;
  }

  template <typename T>
  void read_columns(std::span<const std::string> names, T* out, int64_t width) {
    std::vector<std::unique_ptr<Column<T>>> columns;
    for (const std::string& name : names) columns.push_back(make_column<T>(reader_->Column(index_of(name))));
    std::vector<T> decoded(columns.size() * kRowsAtOnce);
    std::vector<const T*> pointers;
    for (size_t c = 0; c < columns.size(); ++c) pointers.push_back(decoded.data() + c * kRowsAtOnce);
    for (int64_t row = 0; row < rows_; row += kRowsAtOnce) {
      const int64_t count = std::min(kRowsAtOnce, rows_ - row);
      for (size_t c = 0; c < columns.size(); ++c) columns[c]->read(count, decoded.data() + c * kRowsAtOnce);
      interleave<T>(pointers, count, out + row * width, width);
    }
  }

  const int64_t rows_;
  std::unique_ptr<parquet::RowGroupMetaData> metadata_;
  std::shared_ptr<parquet::RowGroupReader> reader_;
};

}  // namespace

BlockPtr read_numeric_row_group(const RowGroup& group, BlockMaker& maker) {
  auto& fragment = dynamic_cast<ds::ParquetFileFragment&>(*group.fragment);
  const std::string& path = fragment.source().path();
  try {
    const auto file = value_of(arrow::io::ReadableFile::Open(path, decoding_pool()), path);
    const auto reader =
        parquet::ParquetFileReader::Open(file, parquet::ReaderProperties(decoding_pool()), fragment.metadata());
    GroupReader rows(*reader, fragment.row_groups().front());
    const auto readable = [&](const TensorColumns& tensor) { return rows.can_read(tensor); };
    if (!std::all_of(maker.tensors().begin(), maker.tensors().end(), readable)) return nullptr;
    const std::shared_ptr<Block> block = maker.allocate(group.rows);
    for (size_t i = 0; i < maker.tensors().size(); ++i) {
      const TensorColumns& spec = maker.tensors()[i];
      const Tensor& tensor = block->tensors[i];
      switch (spec.dtype) {
        case DType::kF32: rows.read(spec, tensor.data<float>()); break;
        case DType::kF64: rows.read(spec, tensor.data<double>()); break;
        case DType::kI32: rows.read(spec, tensor.data<int32_t>()); break;
        default: rows.read(spec, tensor.data<int64_t>()); break;
      }
    }
    return block;
  } catch (const DoesNotFit&) {
    return nullptr;
  } catch (const parquet::ParquetException& failure) {
    raise(path, ": ", failure.what());
  }
}

}  // namespace thalweg::data
