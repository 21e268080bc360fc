// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/arrow/block.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/compute/cast.h>
#include <arrow/scalar.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <type_traits>

#include "base/limits.h"
#include "data/arrow/arrow_types.h"
#include "data/arrow/interleave.h"
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
    const std::string& first = spec.columns[0];
    if (is_list(*array_of(first)->type())) return convert_lists<T>(first, tensor);
    std::vector<Values> values;
    std::vector<const T*> pointers;
    for (const std::string& name : spec.columns) values.push_back(numbers<T>(array_of(name), name, 1));
    for (const Values& v : values) pointers.push_back(static_cast<const T*>(v.data));
    interleave<T>(pointers, columns_.num_rows(), tensor.data<T>(), static_cast<int64_t>(pointers.size()));
  }

 private:
  std::string about(const std::string& column) const { return where_ + ": column '" + column + "'"; }
  std::shared_ptr<arrow::Array> array_of(const std::string& name) const {
    std::shared_ptr<arrow::Array> array = columns_.GetColumnByName(name);
    TW_REQUIRE(array != nullptr, about(name), " is missing");
    return array;
  }
  /// Throws if a null is an error. `per_row`: elements of a row.
  void check_nulls(const arrow::Array& array, const std::string& name, int64_t per_row, int64_t first_row) const;
  template <typename T>
  Values numbers(std::shared_ptr<arrow::Array> array, const std::string& name, int64_t per_row) const {
    return numbers<T>(std::move(array), name, per_row, first_row_);
  }
  template <typename T>
  Values numbers(std::shared_ptr<arrow::Array> array, const std::string& name, int64_t per_row,
                 int64_t first_row) const;
  /// As integers of that type. Throws naming the first row whose value they cannot hold.
  std::shared_ptr<arrow::Array> whole_numbers(const arrow::Array& array, DType dtype, const std::string& what,
                                              int64_t per_row, int64_t first_row) const;
  template <typename T>
  void fill_nulls(Values& values) const;
  template <typename T>
  void convert_lists(const std::string& name, const Tensor& tensor) const;

  const arrow::RecordBatch& columns_;
  const TableOptions& options_;
  const std::string& where_;
  const int64_t first_row_;
};

void Converter::check_nulls(const arrow::Array& array, const std::string& name, int64_t per_row,
                            int64_t first_row) const {
  if (array.null_count() == 0 || options_.nulls == Nulls::kFill) return;
  int64_t element = 0;
  while (array.IsValid(element)) ++element;
  raise(about(name), " is null in row ", first_row + element / per_row, kNullAdvice);
}

std::shared_ptr<arrow::Array> Converter::whole_numbers(const arrow::Array& array, DType dtype, const std::string& what,
                                                       int64_t per_row, int64_t first_row) const {
  const auto cast = [&](const arrow::Array& part) {
    return arrow::compute::Cast(part, arrow_type(dtype), arrow::compute::CastOptions::Safe());
  };
  arrow::Result<std::shared_ptr<arrow::Array>> whole = cast(array);
  if (whole.ok()) return *whole;
  // The first that cannot be converted lies in [begin, end).
  int64_t begin = 0, end = array.length();
  while (end - begin > 1) {
    const int64_t middle = begin + (end - begin) / 2;
    (cast(*array.Slice(begin, middle - begin)).ok() ? begin : end) = middle;
  }
  const std::shared_ptr<arrow::Scalar> value = begin < end ? array.GetScalar(begin).ValueOr(nullptr) : nullptr;
  // Unlike what a value is to blame for, this type cannot be converted at all.
  if (value == nullptr || cast(*array.Slice(begin, 1)).ok()) require_ok(whole.status(), what);
  raise(what, " holds ", value->ToString(), " in row ", first_row + begin / per_row, ", which ", name_of(dtype),
        " cannot hold; make it a tensor of f32 or f64");
}

template <typename T>
Values Converter::numbers(std::shared_ptr<arrow::Array> array, const std::string& name, int64_t per_row,
                          int64_t first_row) const {
  const std::string what = about(name);
  const auto type = arrow_type(dtype_of<T>);
  if (!array->type()->Equals(*type)) {
    TW_REQUIRE(arrow::is_primitive(array->type_id()) || arrow::is_decimal(array->type_id()), what, " holds ",
               array->type()->ToString(), ", which is no number");
    // To round to a floating-point number is what it is for; to cut off or wrap around would be another number.
    array = std::is_integral_v<T>
                ? whole_numbers(*array, dtype_of<T>, what, per_row, first_row)
                : value_of(arrow::compute::Cast(*array, type, arrow::compute::CastOptions::Unsafe()), what);
  }
  Values values{array, array->data()->GetValues<T>(1), {}};
  check_nulls(*array, name, per_row, first_row);
  if (array->null_count() > 0) fill_nulls<T>(values);
  return values;
}

template <typename T>
void Converter::convert_lists(const std::string& name, const Tensor& tensor) const {
  const int64_t length = tensor.shape()[1];
  const auto type = arrow::fixed_size_list(array_of(name)->type()->field(0)->type(), static_cast<int32_t>(length));
  const auto array = value_of(arrow::compute::Cast(*array_of(name), type),
                              about(name) + ", lists of " + std::to_string(length) + " elements");
  const auto& lists = static_cast<const arrow::FixedSizeListArray&>(*array);
  check_nulls(lists, name, 1, first_row_);
  T* out = tensor.data<T>();
  // Elements of lists that are null exist, and may be null or anything: also what a check of all would complain about.
  const int64_t together = std::is_integral_v<T> && lists.null_count() > 0 ? 1 : std::max<int64_t>(lists.length(), 1);
  for (int64_t row = 0; row < lists.length();) {
    if (!lists.IsValid(row) && together == 1) {
      out = std::fill_n(out, length, static_cast<T>(options_.fill));
      ++row;
      continue;
    }
    const auto part = lists.values()->Slice(lists.value_offset(row), together * length);
    const Values values = numbers<T>(part, name, length, first_row_ + row);
    const T* elements = static_cast<const T*>(values.data);
    for (const int64_t end = row + together; row < end; ++row, elements += length) {
      out = lists.IsValid(row) ? std::copy_n(elements, length, out)
                               : std::fill_n(out, length, static_cast<T>(options_.fill));
    }
  }
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

/// Of the first list; 0 if there is none.
int64_t length_of_first(const arrow::ChunkedArray& lists) {
  if (lists.type()->id() == arrow::Type::FIXED_SIZE_LIST) {
    return static_cast<const arrow::FixedSizeListType&>(*lists.type()).list_size();
  }
  if (lists.length() == 0) return 0;
  const std::shared_ptr<arrow::Scalar> first = lists.GetScalar(0).ValueOr(nullptr);
  if (first == nullptr || !first->is_valid) return 0;
  return static_cast<const arrow::BaseListScalar&>(*first).value->length();
}

}  // namespace

bool is_list(const arrow::DataType& type) {
  return type.id() == arrow::Type::FIXED_SIZE_LIST || type.id() == arrow::Type::LIST ||
         type.id() == arrow::Type::LARGE_LIST;
}

arrow::MemoryPool* decoding_pool() {
  static arrow::MemoryPool* const kPool = [] {
    arrow::MemoryPool* pool = arrow::default_memory_pool();
    if (arrow::jemalloc_memory_pool(&pool).ok()) static_cast<void>(arrow::jemalloc_set_decay_ms(1000));
    return pool;
  }();
  return kPool;
}

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

/// Fewer page faults for memory of many pages. Where the system does not do it, nothing is lost.
void prefer_large_pages(const arrow::Buffer& memory) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (memory.address() + page - 1) / page * page;
  const uintptr_t end = (memory.address() + static_cast<uintptr_t>(memory.size())) / page * page;
  if (end > begin) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

Tensor make_tensor(DType dtype, const Shape& shape, const std::string& where) {
  const int64_t bytes = shape.num_elements() * static_cast<int64_t>(size_of(dtype));
  require_memory(static_cast<size_t>(bytes));
  const std::shared_ptr<arrow::Buffer> memory = value_of(arrow::AllocateBuffer(bytes, decoding_pool()), where);
  prefer_large_pages(*memory);
  return Tensor::borrow(dtype, shape, memory->mutable_data(), memory);
}

}  // namespace

BlockMaker::BlockMaker(const TableOptions& options, std::string where, size_t keep)
    : options_(options), tensors_(all_tensors(options)), where_(std::move(where)), keep_(keep) {
  for (const TensorColumns& tensor : tensors_) widths_.push_back(static_cast<int64_t>(tensor.columns.size()));
}

void BlockMaker::set_lists(const arrow::Table& first_row) {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    for (const std::string& name : tensors_[i].columns) {
      const std::shared_ptr<arrow::ChunkedArray> column = first_row.GetColumnByName(name);
      if (!is_list(*column->type())) continue;
      const std::string what = where_ + ": column '" + name + "' of " + column->type()->ToString();
      TW_REQUIRE(tensors_[i].columns.size() == 1 && !tensors_[i].flat, what,
                 " must be a tensor of its own that is not flat");
      widths_[i] = length_of_first(*column);
      TW_REQUIRE(widths_[i] > 0, what, ": the first row does not say how long the lists are");
    }
  }
}

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
  for (size_t i = 0; i < tensors_.size(); ++i) {
    block.tensors.push_back(make_tensor(tensors_[i].dtype, Shape{rows, widths_[i]}, where_));
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
