// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace thalweg {

using BinaryScalar = double (*)(double a, double b);

/// The function of an arithmetic op of two values (add, sub, mul, div, pow, prelu, minimum, maximum) for single
/// numbers; null for other ops.
BinaryScalar find_binary(const std::string& op);

}  // namespace thalweg
