// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Compiled with -O3 (cmake/Library.cmake): these loops are to be vectorised.
#include "comm/reduce.h"

#include <algorithm>

#include "tensor/dtype.h"
#include "tensor/half_loops.h"

namespace thalweg::comm {
namespace {

/// What elements are computed in.
template <typename T>
struct Wide {
  using Type = T;
};
template <>
struct Wide<BF16> {
  using Type = float;
};
template <>
struct Wide<F16> {
  using Type = float;
};

// `out` may be an input, but never overlaps one at another offset: element i depends on elements i alone.
template <typename T, typename Operation>
void loop(T* out, const T* left, const T* right, size_t count, Operation operation) {
  using W = typename Wide<T>::Type;
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) {
    out[i] = static_cast<T>(operation(static_cast<W>(left[i]), static_cast<W>(right[i])));
  }
}

template <typename T>
void reduce_typed(ReduceOp op, T* out, const T* left, const T* right, size_t count) {
  using W = typename Wide<T>::Type;
  if constexpr (!std::is_same_v<T, W>) {
    if (op == ReduceOp::kSum) return add(out, left, right, count);
  }
  switch (op) {
    case ReduceOp::kSum: return loop(out, left, right, count, [](W a, W b) { return a + b; });
    case ReduceOp::kProduct: return loop(out, left, right, count, [](W a, W b) { return a * b; });
    case ReduceOp::kMin: return loop(out, left, right, count, [](W a, W b) { return b < a ? b : a; });
    case ReduceOp::kMax: return loop(out, left, right, count, [](W a, W b) { return a < b ? b : a; });
  }
}

}  // namespace

void reduce_elements(DType dtype, ReduceOp op, void* out, const void* left, const void* right, size_t count) {
  TW_REQUIRE(dtype != DType::kBool, "bool has no sum: reduce u8 instead");
  dispatch(dtype, [&](auto element) {
    using T = decltype(element);
    if constexpr (!std::is_same_v<T, bool>) {
      reduce_typed(op, static_cast<T*>(out), static_cast<const T*>(left), static_cast<const T*>(right), count);
    }
  });
}

}  // namespace thalweg::comm
