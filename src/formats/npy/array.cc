// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/npy/array.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/atomic_file.h"
#include "base/mapped_file.h"
#include "thalweg/npy.h"

namespace thalweg::npy {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are written little-endian");

void swap_bytes(Tensor& tensor) {
  const size_t size = size_of(tensor.dtype());
  auto* bytes = static_cast<char*>(tensor.raw());
  for (size_t i = 0; i < tensor.num_bytes(); i += size) std::reverse(bytes + i, bytes + i + size);
}

/// The row-major form of values of which the first dimension is the innermost.
Tensor to_row_major(const Tensor& values, const Shape& shape) {
  Tensor result(values.dtype(), shape);
  const size_t size = size_of(values.dtype());
  std::vector<int64_t> stride(shape.dims().size(), 1);  // of `values`, in elements
  for (size_t d = 1; d < stride.size(); ++d) stride[d] = stride[d - 1] * shape.dims()[d - 1];
  std::vector<int64_t> index(shape.dims().size(), 0);
  int64_t from = 0;
  const auto* source = static_cast<const char*>(values.raw());
  auto* target = static_cast<char*>(result.raw());
  for (int64_t to = 0; to < result.num_elements(); ++to) {
    std::memcpy(target + static_cast<size_t>(to) * size, source + static_cast<size_t>(from) * size, size);
    for (int d = shape.rank() - 1; d >= 0; --d) {
      const auto i = static_cast<size_t>(d);
      from += stride[i];
      if (++index[i] < shape[d]) break;
      from -= stride[i] * shape[d];
      index[i] = 0;
    }
  }
  return result;
}

/// A byte other than 0 and 1 is no bool in C++.
void require_bools(const Tensor& tensor, const std::string& where) {
  if (tensor.dtype() != DType::kBool) return;
  const auto* values = static_cast<const uint8_t*>(tensor.raw());
  const bool good = std::all_of(values, values + tensor.num_bytes(), [](uint8_t value) { return value <= 1; });
  TW_REQUIRE(good, where, ": has truth values that are neither true nor false");
}

}  // namespace

Tensor parse_array(std::string_view bytes, const std::string& where, std::shared_ptr<void> owner) {
  const Header header = parse_header(bytes, where);
  char* values = const_cast<char*>(bytes.data()) + header.data_offset;
  const bool aligned = reinterpret_cast<uintptr_t>(values) % size_of(header.dtype) == 0;
  Tensor tensor;
  if (owner != nullptr && aligned && header.shape.num_elements() > 0 && !header.big_endian) {
    tensor = Tensor::borrow(header.dtype, header.shape, values, std::move(owner));
  } else {
    tensor = Tensor(header.dtype, header.shape);
    if (tensor.num_bytes() > 0) std::memcpy(tensor.raw(), values, tensor.num_bytes());
  }
  if (header.big_endian) swap_bytes(tensor);
  require_bools(tensor, where);
  return header.fortran_order && header.shape.rank() > 1 ? to_row_major(tensor, header.shape) : tensor;
}

Tensor writable(const Tensor& tensor) { return tensor.dtype() == DType::kBF16 ? tensor.to(DType::kF32) : tensor; }

Tensor read(const std::string& path) {
  auto file = std::make_shared<MappedFile>(path);
  return parse_array(file->text(), path, file);
}

void write(const std::string& path, const Tensor& tensor) {
  const Tensor values = writable(tensor);
  const std::string header = header_of(values.dtype(), values.shape());
  AtomicFile file(path);
  file.write(header.data(), header.size());
  file.write(values.raw(), values.num_bytes());
  file.commit();
}

}  // namespace thalweg::npy
