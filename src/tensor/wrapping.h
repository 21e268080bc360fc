// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

/// Arithmetic on elements in which integers wrap around, as ONNX's reference does. C++ leaves what overflows undefined,
/// and the quotient of the lowest number and -1 would end the process.
namespace thalweg {

/// The type to compute in: small integers would become int, which overflows as well.
template <typename T>
using Wrapping = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;

template <typename T>
T wrapping_sum(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
}

template <typename T>
T wrapping_difference(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
}

template <typename T>
T wrapping_product(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
}

/// An integer divided by zero is 0.
template <typename T>
T wrapping_quotient(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return wrapping_difference(T{0}, a);
    }
  }
  return static_cast<T>(a / b);
}

}  // namespace thalweg
