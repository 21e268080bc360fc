// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/graph.h"

/// The weights and batches of golden files and benchmarks: the formula of tests/golden/deterministic.py, bit for bit.
namespace thalweg::nn {

/// f32 in [-bound, bound), from the tensor's name alone.
Tensor deterministic_uniform(const std::string& name, const Shape& shape, double bound = 1.0);
/// i64 in [0, below).
Tensor deterministic_integers(const std::string& name, const Shape& shape, uint64_t below);
/// Overwrites every parameter of a zoo model by the rules of deterministic.py.
void deterministic_initialise(Graph& graph);

}  // namespace thalweg::nn
