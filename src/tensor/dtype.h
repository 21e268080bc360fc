// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "thalweg/tensor.h"

namespace thalweg {

/// Calls `body(T{})` with the C++ type of `dtype`, for every DType.
template <typename Body>
decltype(auto) dispatch(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::kF32: return body(float{});
    case DType::kF64: return body(double{});
    case DType::kBF16: return body(BF16{});
    case DType::kF16: return body(F16{});
    case DType::kI8: return body(int8_t{});
    case DType::kU8: return body(uint8_t{});
    case DType::kI32: return body(int32_t{});
    case DType::kI64: return body(int64_t{});
    case DType::kBool: return body(bool{});
  }
  raise("unknown element type ", static_cast<int>(dtype));
}

/// As `dispatch`, for the types that have arithmetic of their own: f32, f64 and the integers.
template <typename Body>
decltype(auto) dispatch_arithmetic(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::kF32: return body(float{});
    case DType::kF64: return body(double{});
    case DType::kI8: return body(int8_t{});
    case DType::kU8: return body(uint8_t{});
    case DType::kI32: return body(int32_t{});
    case DType::kI64: return body(int64_t{});
    default: raise("no arithmetic for element type ", name_of(dtype));
  }
}

/// As `dispatch`, for f32 and f64 only.
template <typename Body>
decltype(auto) dispatch_real(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::kF32: return body(float{});
    case DType::kF64: return body(double{});
    default: raise("element type must be f32 or f64, got ", name_of(dtype));
  }
}

/// Conversion of one element between any two element types, through float for the two-byte types.
template <typename To, typename From>
To convert_element(From value) {
  if constexpr (std::is_same_v<From, BF16> || std::is_same_v<From, F16>) {
    return convert_element<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, BF16> || std::is_same_v<To, F16>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{};
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace thalweg
