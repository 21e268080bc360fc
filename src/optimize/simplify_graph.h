// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "optimize/edited_graph.h"

namespace thalweg {

/// Nodes that do nothing at inference go, and batch norms go into the weights of the convolutions before them.
void simplify_graph(EditedGraph& model);

}  // namespace thalweg
