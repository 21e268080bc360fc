// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "thalweg/graph.h"

namespace thalweg {

/// After prepare_for_training: gradients of fully connected layers' matrices that are one product are not computed any
/// more. Their two factors become the graph's last outputs instead, two for each of the parameters whose names it
/// returns: `left` [..., m] and `right` [..., n], where the gradient [m, n] is the product of the first, transposed,
/// and the second, both read as matrices of as many rows.
std::vector<std::string> factor_gradients(Graph& graph);

}  // namespace thalweg
