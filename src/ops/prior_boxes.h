// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/graph.h"

namespace thalweg {

/// The result of a prior_box node, in f32; undefined while the extents that it follows from are free.
Tensor prior_boxes(const Node& node);

}  // namespace thalweg
