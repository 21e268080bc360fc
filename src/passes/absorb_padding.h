// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/graph.h"

namespace thalweg {

/// Margins of zeros before a convolution, and of -infinity before a maximum pool, become part of that node's padding.
void absorb_padding(Graph& graph);

}  // namespace thalweg
