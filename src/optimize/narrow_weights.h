// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "optimize/edited_graph.h"

namespace thalweg {

/// Stores the larger weights in a type of two bytes, and widens them where they are read.
void narrow_weights(EditedGraph& model, DType dtype);

}  // namespace thalweg
