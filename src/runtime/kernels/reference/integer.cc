// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <type_traits>

#include "runtime/kernels/reference/broadcast_index.h"
#include "runtime/kernels/reference/reference.h"
#include "tensor/dtype.h"

namespace thalweg {
namespace {

template <typename T, typename F>
void each_pair(const ReferenceCall& call, F function) {
  const BroadcastIndex left(call.in(0).shape(), call.out().shape());
  const BroadcastIndex right(call.in(1).shape(), call.out().shape());
  const T* a = call.in(0).data<T>();
  const T* b = call.in(1).data<T>();
  T* y = call.out().data<T>();
  for (int64_t i = 0; i < call.out().num_elements(); ++i) y[i] = static_cast<T>(function(a[left(i)], b[right(i)]));
}

/// The sign follows the dividend if `truncated`, else the divisor. A remainder of division by 0 is 0 for integers.
template <typename T>
T remainder(T a, T b, bool truncated) {
  T rest{};
  if constexpr (std::is_floating_point_v<T>) {
    rest = std::fmod(a, b);
  } else {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;  // the quotient of the lowest number would overflow
    }
    rest = static_cast<T>(a % b);
  }
  return !truncated && rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
}

void modulo(const ReferenceCall& call) {
  const bool truncated = call.attrs().flag("truncated");
  dispatch_arithmetic(call.in(0).dtype(), [&](auto tag) {
    using T = decltype(tag);
    each_pair<T>(call, [&](T a, T b) { return remainder(a, b, truncated); });
  });
}

/// `function` gets unsigned operands of the width of the inputs.
template <typename F>
void bits(const char* op, F function) {
  RegisterReference(op, [function](const ReferenceCall& call) {
    dispatch_arithmetic(call.in(0).dtype(), [&](auto tag) {
      using T = decltype(tag);
      if constexpr (std::is_integral_v<T>) {
        using U = std::make_unsigned_t<T>;
        each_pair<T>(call, [&](T a, T b) { return function(static_cast<U>(a), static_cast<U>(b)); });
      }
    });
  });
}

void bit_not(const ReferenceCall& call) {
  dispatch_arithmetic(call.in(0).dtype(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T>) {
      const T* x = call.in(0).data<T>();
      for (int64_t i = 0; i < call.out().num_elements(); ++i) call.out().data<T>()[i] = static_cast<T>(~x[i]);
    }
  });
}

/// The sign of a signed number fills what becomes free; by the width or more leaves nothing else. A negative distance
/// counts as a large one.
void shift_right(const ReferenceCall& call) {
  dispatch_arithmetic(call.in(0).dtype(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T>) {
      constexpr int kWidth = static_cast<int>(8 * sizeof(T));
      each_pair<T>(call, [&](T a, T b) {
        const bool all = std::make_unsigned_t<T>(b) >= kWidth;
        if (all) return static_cast<T>(a < 0 ? -1 : 0);
        return static_cast<T>(a >> b);
      });
    }
  });
}

struct RegisterAll {
  RegisterAll() {
    RegisterReference("modulo", modulo);
    RegisterReference("bit_not", bit_not);
    RegisterReference("shift_right", shift_right);
    bits("bit_and", [](auto a, auto b) { return a & b; });
    bits("bit_or", [](auto a, auto b) { return a | b; });
    bits("bit_xor", [](auto a, auto b) { return a ^ b; });
    // To shift by the width or more leaves nothing.
    bits("shift_left", [](auto a, auto b) {
      return b < std::numeric_limits<decltype(a)>::digits ? static_cast<decltype(a)>(uint64_t{a} << b) : decltype(a){};
    });
  }
};
const RegisterAll kAll;

}  // namespace
}  // namespace thalweg
