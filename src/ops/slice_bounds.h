// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "thalweg/graph.h"

namespace thalweg {

/// start:end:step on a dimension of known size, after Python's rules.
struct SliceBounds {
  int64_t start = 0;
  int64_t step = 1;
  int64_t length = 0;
};
SliceBounds slice_bounds(int64_t start, int64_t end, int64_t step, int64_t size);

/// The bounds of a "slice" or "slice_grad" node on every dimension of the whole (unsliced) shape.
std::vector<SliceBounds> slice_bounds(const Attributes& attrs, const Shape& whole);

}  // namespace thalweg
