// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bindings.h"
#include "thalweg/graph.h"

namespace thalweg::python {

/// thalweg.Input: what a module is called with when a model is made of it.
struct ModelInput {
  Shape shape;
  DType dtype;
  /// Empty: "input", or with a number if there are several.
  std::string name;
};

/// Of nn::Scope.
inline constexpr uint64_t kDefaultSeed = 0;

/// Calls a module with such inputs and returns the Python object of the graph that it builds. The outputs are what the
/// module returns, a value or several, with the keys as names if it returns a dict.
nb::object trace(nb::handle module, const std::vector<ModelInput>& inputs, uint64_t seed);

}  // namespace thalweg::python
