// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/graph.h"

namespace thalweg::ops {

/// Reductions over `axes` (all if empty; negative axes count from the end).
Value* reduce_sum(Value* x, const std::vector<int64_t>& axes = {}, bool keep_dims = false);
Value* reduce_mean(Value* x, const std::vector<int64_t>& axes = {}, bool keep_dims = false);
Value* reduce_max(Value* x, const std::vector<int64_t>& axes = {}, bool keep_dims = false);
Value* reduce_min(Value* x, const std::vector<int64_t>& axes = {}, bool keep_dims = false);
Value* reduce_prod(Value* x, const std::vector<int64_t>& axes = {}, bool keep_dims = false);
Value* reduce_l1(Value* x, const std::vector<int64_t>& axes = {}, bool keep_dims = false);
Value* reduce_l2(Value* x, const std::vector<int64_t>& axes = {}, bool keep_dims = false);
Value* reduce_log_sum_exp(Value* x, const std::vector<int64_t>& axes = {}, bool keep_dims = false);

/// Index (i64) of the first largest element along `axis`.
Value* arg_max(Value* x, int64_t axis, bool keep_dims = false);
Value* arg_min(Value* x, int64_t axis, bool keep_dims = false);
/// The `k` largest (or smallest) along `axis`, best first, and their indices (i64). Equal values keep their order.
struct TopK {
  Value* values;
  Value* indices;
};
TopK top_k(Value* x, int64_t k, int64_t axis = -1, bool largest = true);
Value* cumsum(Value* x, int64_t axis, bool exclusive = false, bool reverse = false);

}  // namespace thalweg::ops
