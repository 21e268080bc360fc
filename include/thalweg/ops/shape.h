// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/graph.h"

/// Ops that move data without computing. Shapes may have free dimensions.
namespace thalweg::ops {

/// In `shape`, 0 copies the input's dimension at that place and -1 takes what is left (at most one).
Value* reshape(Value* x, const std::vector<int64_t>& shape);
/// Two dimensions: those before `axis`, the rest.
Value* flatten(Value* x, int64_t axis = 1);
Value* squeeze(Value* x, const std::vector<int64_t>& axes);
Value* unsqueeze(Value* x, const std::vector<int64_t>& axes);
/// Reverses all dimensions if `permutation` is empty.
Value* transpose(Value* x, const std::vector<int64_t>& permutation = {});
Value* concat(const std::vector<Value*>& parts, int64_t axis);
/// Parts of the given sizes along `axis`; they must add up.
std::vector<Value*> split(Value* x, const std::vector<int64_t>& sizes, int64_t axis);
/// Python's x[start:end:step] on each of `axes`; out-of-range bounds are clamped. `steps` may be empty (all 1).
Value* slice(Value* x, const std::vector<int64_t>& starts, const std::vector<int64_t>& ends,
             const std::vector<int64_t>& axes, const std::vector<int64_t>& steps = {});
/// `pads`: all begins, then all ends, one pair per dimension; negative pads crop (constant mode only).
/// `mode`: constant, reflect, edge.
Value* pad(Value* x, const std::vector<int64_t>& pads, const std::string& mode = "constant", double value = 0.0);
/// Broadcasts to `shape` (0 or -1 copies the input's dimension).
Value* expand(Value* x, const std::vector<int64_t>& shape);
Value* tile(Value* x, const std::vector<int64_t>& repeats);

/// numpy.take along `axis`; `indices` i64 or i32 of any shape, negative ones count from the end.
Value* gather(Value* x, Value* indices, int64_t axis = 0);
/// numpy.take_along_axis: indices have the rank of `x`.
Value* gather_elements(Value* x, Value* indices, int64_t axis);
/// A copy of `x` in which element `indices` along `axis` is set to, or increased by, `updates`.
Value* scatter_elements(Value* x, Value* indices, Value* updates, int64_t axis, bool accumulate = false);
/// Rows of `table` [V, D] chosen by `indices` (any shape): [..., D]. The gradient of the table is sparse rows.
/// `padding_index` >= 0: that row gets no gradient.
Value* embedding(Value* table, Value* indices, int64_t padding_index = -1, const std::string& name = "");

/// How many elements x has along `axes` (all if empty), as an f32 scalar: known from the shape alone, once that is.
Value* element_count(Value* x, const std::vector<int64_t>& axes = {});

/// `x`, of which training takes no account: no gradient passes. At inference nothing is left of it.
Value* stop_gradient(Value* x);

}  // namespace thalweg::ops
