// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "thalweg/graph.h"

namespace thalweg {

/// A function of one number and of at most two arguments: the attributes of its op, in the order of their declaration.
using UnaryScalar = double (*)(double x, double a, double b);

/// A row of the table in unary.cc, as kernels see it.
struct UnaryFunction {
  std::string name;
  UnaryScalar value;
  /// As a function of what is kept for backward, the input or the output; null if there is none, or it is zero.
  UnaryScalar derivative;
};

/// All rows.
const std::vector<UnaryFunction>& unary_functions();
/// Null if the op is none of them.
const UnaryFunction* find_unary(const std::string& op);

/// The function that a node of one of these ops, or of unary_grad, applies, and its arguments.
struct UnaryCallee {
  const UnaryFunction* function = nullptr;
  double a = 0.0, b = 0.0;
};
UnaryCallee callee_of(const Node& node);

}  // namespace thalweg
