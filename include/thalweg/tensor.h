// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "thalweg/error.h"

namespace thalweg {

enum class DType : uint8_t { kF32, kF64, kBF16, kF16, kI8, kU8, kI32, kI64, kBool, kI16, kU16, kU32, kU64 };

/// Bytes of one element.
size_t size_of(DType dtype);
/// Lower-case name as in "f32"; `dtype_from_name` is the inverse and throws on an unknown name.
const char* name_of(DType dtype);
DType dtype_from_name(const std::string& name);
bool is_floating(DType dtype);
std::ostream& operator<<(std::ostream& out, DType dtype);

/// A dimension whose size is known only when a graph is compiled, such as the batch.
inline constexpr int64_t kFree = -1;

/// The extents of a tensor, outermost first. Dimensions of a graph value may be kFree; those of a Tensor never are.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}

  int rank() const { return static_cast<int>(dims_.size()); }
  /// Negative indices count from the innermost dimension, as in Python.
  int64_t operator[](int index) const { return dims_[static_cast<size_t>(normalize(index))]; }
  int64_t& operator[](int index) { return dims_[static_cast<size_t>(normalize(index))]; }
  const std::vector<int64_t>& dims() const { return dims_; }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }

  /// False while any dimension is kFree.
  bool is_static() const;
  /// Product of all dimensions (1 for a scalar). Throws if a dimension is kFree or the product overflows.
  int64_t num_elements() const;
  /// Product of dimensions [first, last).
  int64_t num_elements(int first, int last) const;
  /// Row-major strides in elements.
  std::vector<int64_t> strides() const;
  std::string to_string() const;

  bool operator==(const Shape& other) const = default;

 private:
  int normalize(int index) const;
  std::vector<int64_t> dims_;
};
std::ostream& operator<<(std::ostream& out, const Shape& shape);

/// Element type and shape of a value in a graph.
struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;
  bool operator==(const TensorType&) const = default;
};
std::ostream& operator<<(std::ostream& out, const TensorType& type);

/// Two-byte floating types. They convert to and from float with round-to-nearest-even; arithmetic happens in float.
struct BF16 {
  uint16_t bits = 0;
  BF16() = default;
  explicit BF16(float value);
  explicit operator float() const;
};
struct F16 {
  uint16_t bits = 0;
  F16() = default;
  explicit F16(float value);
  explicit operator float() const;
};

/// Maps a C++ type to its DType: dtype_of<float> == DType::kF32.
template <typename T>
inline constexpr DType dtype_of = [] {
  static_assert(sizeof(T) == 0, "no DType for this type");
  return DType::kF32;
}();
template <>
inline constexpr DType dtype_of<float> = DType::kF32;
template <>
inline constexpr DType dtype_of<double> = DType::kF64;
template <>
inline constexpr DType dtype_of<BF16> = DType::kBF16;
template <>
inline constexpr DType dtype_of<F16> = DType::kF16;
template <>
inline constexpr DType dtype_of<int8_t> = DType::kI8;
template <>
inline constexpr DType dtype_of<uint8_t> = DType::kU8;
template <>
inline constexpr DType dtype_of<int32_t> = DType::kI32;
template <>
inline constexpr DType dtype_of<int64_t> = DType::kI64;
template <>
inline constexpr DType dtype_of<bool> = DType::kBool;
template <>
inline constexpr DType dtype_of<int16_t> = DType::kI16;
template <>
inline constexpr DType dtype_of<uint16_t> = DType::kU16;
template <>
inline constexpr DType dtype_of<uint32_t> = DType::kU32;
template <>
inline constexpr DType dtype_of<uint64_t> = DType::kU64;

/// A dense row-major array. Copies share the storage (reference-counted); `clone` makes a deep copy.
/// Storage is aligned to 64 bytes unless it was borrowed. Not synchronised: concurrent writers are the caller's care.
class Tensor {
 public:
  /// An empty handle: `defined()` is false.
  Tensor() = default;
  /// Uninitialised storage.
  Tensor(DType dtype, Shape shape);
  explicit Tensor(const TensorType& type) : Tensor(type.dtype, type.shape) {}

  static Tensor zeros(DType dtype, Shape shape);
  template <typename T>
  static Tensor full(Shape shape, T value);
  template <typename T>
  static Tensor from(Shape shape, const std::vector<T>& values);
  template <typename T>
  static Tensor scalar(T value) {
    return full<T>(Shape{}, value);
  }
  /// Views memory owned by somebody else; `keep_alive` is held as long as any copy of the tensor lives.
  static Tensor borrow(DType dtype, Shape shape, void* data, std::shared_ptr<void> keep_alive);

  bool defined() const { return data_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  TensorType type() const { return {dtype_, shape_}; }
  int64_t num_elements() const { return num_elements_; }
  size_t num_bytes() const { return static_cast<size_t>(num_elements_) * size_of(dtype_); }

  void* raw() const { return data_.get(); }
  /// Typed access; throws if T is not the element type.
  template <typename T>
  T* data() const {
    TW_REQUIRE(dtype_of<T> == dtype_, "tensor holds ", name_of(dtype_), ", not ", name_of(dtype_of<T>));
    return static_cast<T*>(raw());
  }
  /// The one element of a tensor of any numeric type, as double.
  double item() const;

  Tensor clone() const;
  /// The same storage seen with another shape of as many elements.
  Tensor reshaped(Shape shape) const;
  /// A view of rows [begin, end) of the outermost dimension.
  Tensor rows(int64_t begin, int64_t end) const;
  /// A copy converted to `dtype`; the tensor itself if it has that type already.
  Tensor to(DType dtype) const;

 private:
  DType dtype_ = DType::kF32;
  Shape shape_;
  int64_t num_elements_ = 0;
  std::shared_ptr<void> data_;
};

template <typename T>
Tensor Tensor::full(Shape shape, T value) {
  Tensor result(dtype_of<T>, std::move(shape));
  T* out = result.data<T>();
  for (int64_t i = 0; i < result.num_elements(); ++i) out[i] = value;
  return result;
}

template <typename T>
Tensor Tensor::from(Shape shape, const std::vector<T>& values) {
  Tensor result(dtype_of<T>, std::move(shape));
  TW_REQUIRE(result.num_elements() == static_cast<int64_t>(values.size()), "tensor of shape ", result.shape(),
             " needs ", result.num_elements(), " values, got ", values.size());
  T* out = result.data<T>();
  for (size_t i = 0; i < values.size(); ++i) out[i] = values[i];
  return result;
}

}  // namespace thalweg
