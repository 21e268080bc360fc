// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

namespace thalweg {

/// The order of top_k among the elements x[0], x[stride], ...: largest (or smallest) first, equal ones by place, and
/// NaN as the largest of all, so that there is an order whatever the elements are.
template <typename T>
struct BestFirst {
  const T* x;
  int64_t stride;
  bool smallest;

  bool operator()(int64_t a, int64_t b) const {
    const T left = x[a * stride], right = x[b * stride];
    if (left < right) return smallest;
    if (right < left) return !smallest;
    const bool left_nan = left != left, right_nan = right != right;
    return left_nan == right_nan ? a < b : left_nan != smallest;
  }
};

/// What a running sum of T is kept in: sums of integers wrap.
template <typename T>
using SumOf = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;

}  // namespace thalweg
