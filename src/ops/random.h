// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/graph.h"

namespace thalweg::ops {

/// Numbers in [low, high) of the shape of `like`, or of `shape` if that is null.
Value* random_uniform(Graph& graph, Value* like, const Shape& shape, double low, double high, DType dtype,
                      int64_t seed);
Value* random_normal(Graph& graph, Value* like, const Shape& shape, double mean, double deviation, DType dtype,
                     int64_t seed);

}  // namespace thalweg::ops
