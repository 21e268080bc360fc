// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "arrow_array.h"

#include <cstring>
#include <string>

#include "casters.h"

namespace thalweg::python {
namespace {

// The structures of the C data interface, as Arrow's format specification lays them down.
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

bool type_of(const char* format, DType& result) {
  static constexpr std::pair<char, DType> kFormats[] = {{'c', DType::kI8},  {'C', DType::kU8},  {'s', DType::kI16},
                                                        {'S', DType::kU16}, {'i', DType::kI32}, {'I', DType::kU32},
                                                        {'l', DType::kI64}, {'L', DType::kU64}, {'e', DType::kF16},
                                                        {'f', DType::kF32}, {'g', DType::kF64}};
  if (std::strlen(format) != 1) return false;
  for (const auto& [letter, dtype] : kFormats) {
    if (*format == letter) result = dtype;
    if (*format == letter) return true;
  }
  return false;
}

/// Null counts of -1 mean that nobody has counted; without a bitmap there are none.
bool has_nulls(const ArrowArray& array) {
  return array.null_count != 0 && array.n_buffers > 0 && array.buffers[0] != nullptr;
}

/// Fixed-size lists add a dimension each, until the numbers themselves are reached.
bool view(const ArrowSchema* schema, const ArrowArray* array, const std::shared_ptr<void>& keep_alive, Tensor& result) {
  std::vector<int64_t> dims = {array->length};
  int64_t first = array->offset;
  while (std::strncmp(schema->format, "+w:", 3) == 0 && array->n_children == 1 && !has_nulls(*array)) {
    const int64_t size = std::stoll(schema->format + 3);
    dims.push_back(size);
    schema = schema->children[0];
    array = array->children[0];
    first = first * size + array->offset;
  }
  DType dtype{};
  if (!type_of(schema->format, dtype) || array->n_buffers != 2 || array->dictionary != nullptr || has_nulls(*array))
    return false;
  Shape shape(std::move(dims));
  if (shape.num_elements() == 0) {
    result = Tensor(dtype, std::move(shape));
    return true;
  }
  const char* bytes = static_cast<const char*>(array->buffers[1]) + first * static_cast<int64_t>(size_of(dtype));
  result = Tensor::borrow(dtype, std::move(shape), const_cast<char*>(bytes), keep_alive);  // NOLINT: it is only read
  return true;
}

}  // namespace

bool tensor_from_arrow(nb::handle object, Tensor& result) {
  if (!nb::hasattr(object, "__arrow_c_array__")) return false;
  const nb::object capsules = object.attr("__arrow_c_array__")();
  const nb::object schema_capsule = capsules[0];
  const nb::object array_capsule = capsules[1];
  auto* schema = static_cast<ArrowSchema*>(PyCapsule_GetPointer(schema_capsule.ptr(), "arrow_schema"));
  auto* array = static_cast<ArrowArray*>(PyCapsule_GetPointer(array_capsule.ptr(), "arrow_array"));
  if (schema == nullptr || array == nullptr) throw nb::python_error();
  // The capsule releases the memory when it goes.
  const std::shared_ptr<void> keep_alive(array_capsule.ptr(), [held = nb::object(array_capsule)](void*) mutable {
    const nb::gil_scoped_acquire gil;
    held.reset();
  });
  return view(schema, array, keep_alive, result);
}

}  // namespace thalweg::python
