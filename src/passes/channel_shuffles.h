// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/graph.h"

namespace thalweg {

/// Channels that are dealt out anew between groups (a reshape, a transpose and a reshape, as ShuffleNets have them) are
/// said as a selection of channels, which kernels carry out in the layout in which the activation lies.
void say_channel_shuffles(Graph& graph);

}  // namespace thalweg
