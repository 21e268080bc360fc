// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/graph.h"

namespace thalweg {

/// A group norm that was spelled as an instance norm over reshaped groups, with a scale and a shift for each channel
/// after it, as exporters write it, becomes the one op that it is.
void say_group_norms(Graph& graph);

}  // namespace thalweg
