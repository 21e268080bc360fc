// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/index_check.h"

namespace thalweg {

std::vector<int64_t> checked_indices(const Node& node, const void* indices, DType dtype, int64_t count, int64_t limit) {
  std::vector<int64_t> result(static_cast<size_t>(count));
  const auto* wide = static_cast<const int64_t*>(indices);
  const auto* narrow = static_cast<const int32_t*>(indices);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t index = dtype == DType::kI64 ? wide[i] : narrow[i];
    TW_REQUIRE(index >= -limit && index < limit, describe(node), ": index ", index, " at position ", i,
               " is out of range for ", limit, " places");
    result[static_cast<size_t>(i)] = index < 0 ? index + limit : index;
  }
  return result;
}

}  // namespace thalweg
