// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>
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
    case DType::kI16: return body(int16_t{});
    case DType::kU16: return body(uint16_t{});
    case DType::kU32: return body(uint32_t{});
    case DType::kU64: return body(uint64_t{});
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
    case DType::kI16: return body(int16_t{});
    case DType::kU16: return body(uint16_t{});
    case DType::kU32: return body(uint32_t{});
    case DType::kU64: return body(uint64_t{});
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

/// A floating number cut to an integer type: the nearest number that the type has, 0 for what is not a number.
template <typename To, typename From>
To cut_to_integer(From value) {
  constexpr auto kLowest = static_cast<From>(std::numeric_limits<To>::lowest());
  // The largest integer itself may not be exact in From: the first number beyond it is.
  const From beyond = std::ldexp(From{1}, std::numeric_limits<To>::digits);
  if (value != value) return To{};
  if (value <= kLowest) return std::numeric_limits<To>::lowest();
  return value >= beyond ? std::numeric_limits<To>::max() : static_cast<To>(value);
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
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return cut_to_integer<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace thalweg
