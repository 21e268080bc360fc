// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/graph.h"

namespace thalweg {

/// Attention whose q, k and v are the three parts of one projection, taken apart and moved head by head, reads them
/// where the projection left them instead.
void say_packed_attention(Graph& graph, const Node& attention);

}  // namespace thalweg
