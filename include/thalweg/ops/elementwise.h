// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/graph.h"

/// Builders append a node to the graph of their inputs and return its output. Binary ops broadcast as numpy does; both
/// sides must have the same element type. `name` names the node in messages.
namespace thalweg::ops {

Value* add(Value* a, Value* b, const std::string& name = "");
Value* sub(Value* a, Value* b, const std::string& name = "");
Value* mul(Value* a, Value* b, const std::string& name = "");
Value* div(Value* a, Value* b, const std::string& name = "");
Value* pow(Value* a, Value* b, const std::string& name = "");
Value* minimum(Value* a, Value* b, const std::string& name = "");
Value* maximum(Value* a, Value* b, const std::string& name = "");

/// With a scalar constant of the other side's element type.
Value* add(Value* a, double b);
Value* sub(Value* a, double b);
Value* mul(Value* a, double b);
Value* div(Value* a, double b);
Value* pow(Value* a, double b);
Value* rsub(double a, Value* b);

/// Comparisons give bool.
Value* equal(Value* a, Value* b);
Value* less(Value* a, Value* b);
Value* less_equal(Value* a, Value* b);
Value* greater(Value* a, Value* b);
Value* greater_equal(Value* a, Value* b);
Value* logical_and(Value* a, Value* b);
Value* logical_or(Value* a, Value* b);
Value* logical_xor(Value* a, Value* b);
Value* logical_not(Value* a);
/// Elements of `a` where `condition` (bool) holds, of `b` elsewhere; broadcasts.
Value* where(Value* condition, Value* a, Value* b);

/// The rest of a division, with the sign of the dividend if `truncated` (as C's fmod), else of the divisor (as Python's
/// %). Division of integers by 0 leaves 0.
Value* modulo(Value* a, Value* b, bool truncated = false);
/// Bits of integers. To shift by the width or more leaves 0, or -1 of a negative number that is shifted right.
Value* bit_and(Value* a, Value* b);
Value* bit_or(Value* a, Value* b);
Value* bit_xor(Value* a, Value* b);
Value* bit_not(Value* a);
Value* shift_left(Value* a, Value* b);
Value* shift_right(Value* a, Value* b);

Value* cast(Value* x, DType dtype);
/// A constant of one element with the type of `like`.
Value* scalar_like(Value* like, double value);
/// Undoes broadcasting in gradients: sums `x` over the dimensions in which `shape` is 1 or absent.
Value* sum_to(Value* x, const Shape& shape);

}  // namespace thalweg::ops
