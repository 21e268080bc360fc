// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "thalweg/graph.h"

namespace thalweg {

/// All of `indices` (i64 or i32) as i64, negative ones counted from the end of `limit` places. Throws an Error that
/// names the node, position and value of the first one out of range; call it outside OpenMP regions.
std::vector<int64_t> checked_indices(const Node& node, const void* indices, DType dtype, int64_t count, int64_t limit);

}  // namespace thalweg
