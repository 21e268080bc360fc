// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor.h"

#include <cstdlib>
#include <cstring>

#include "base/limits.h"
#include "tensor/dtype.h"
#include "thalweg/stored_types.h"

namespace thalweg {
namespace {

constexpr size_t kAlignment = 64;

std::shared_ptr<void> allocate(size_t bytes) {
  require_memory(bytes);
  // At least one byte, so that a tensor without elements still has an address.
  const size_t rounded = (bytes + kAlignment) / kAlignment * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, rounded);
  if (memory == nullptr) raise("out of memory: ", bytes, " bytes for a tensor");
  return {memory, std::free};
}

}  // namespace

Tensor::Tensor(DType dtype, Shape shape)
    : dtype_(dtype), shape_(std::move(shape)), num_elements_(shape_.num_elements()) {
  size_t bytes = 0;
  TW_REQUIRE(!__builtin_mul_overflow(static_cast<size_t>(num_elements_), size_of(dtype), &bytes), "shape ", shape_,
             " has too many bytes");
  data_ = allocate(bytes);
}

Tensor Tensor::zeros(DType dtype, Shape shape) {
  Tensor result(dtype, std::move(shape));
  std::memset(result.raw(), 0, result.num_bytes());
  return result;
}

Tensor Tensor::borrow(DType dtype, Shape shape, void* data, std::shared_ptr<void> keep_alive) {
  Tensor result;
  result.dtype_ = dtype;
  result.shape_ = std::move(shape);
  result.num_elements_ = result.shape_.num_elements();
  result.data_ = std::shared_ptr<void>(std::move(keep_alive), data);
  return result;
}

double Tensor::item() const {
  TW_REQUIRE(defined() && num_elements_ == 1, "item() needs a tensor of one element, got shape ", shape_);
  if (stored::is_narrow(dtype_)) return stored::widened(*this).item();
  return dispatch(dtype_, [&](auto tag) {
    using T = decltype(tag);
    return convert_element<double>(*data<T>());
  });
}

Tensor Tensor::clone() const {
  if (stored::is_object(dtype_)) return *this;  // nobody changes those
  Tensor copy(dtype_, shape_);
  std::memcpy(copy.raw(), raw(), num_bytes());
  return copy;
}

Tensor Tensor::reshaped(Shape shape) const {
  TW_REQUIRE(shape.num_elements() == num_elements_, "cannot see a tensor of shape ", shape_, " as ", shape);
  Tensor view = *this;
  view.shape_ = std::move(shape);
  return view;
}

Tensor Tensor::rows(int64_t begin, int64_t end) const {
  TW_REQUIRE(shape_.rank() > 0 && begin >= 0 && begin <= end && end <= shape_[0], "rows [", begin, ",", end,
             ") lie outside of a tensor of shape ", shape_);
  Tensor view = *this;
  view.shape_[0] = end - begin;
  const int64_t row = shape_.num_elements(1, shape_.rank());
  view.num_elements_ = (end - begin) * row;
  auto* first = static_cast<char*>(raw()) + static_cast<size_t>(begin * row) * size_of(dtype_);
  view.data_ = std::shared_ptr<void>(data_, first);
  return view;
}

Tensor Tensor::to(DType dtype) const {
  if (dtype == dtype_) return *this;
  if (stored::is_narrow(dtype)) return stored::narrowed(*this, dtype);
  if (stored::is_narrow(dtype_)) return stored::widened(*this).to(dtype);
  Tensor result(dtype, shape_);
  dispatch(dtype_, [&](auto from_tag) {
    using From = decltype(from_tag);
    dispatch(dtype, [&](auto to_tag) {
      using To = decltype(to_tag);
      const From* in = data<From>();
      To* out = result.data<To>();
      for (int64_t i = 0; i < num_elements_; ++i) out[i] = convert_element<To>(in[i]);
    });
  });
  return result;
}

}  // namespace thalweg
