// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "optimize/edited_graph.h"

namespace thalweg {

/// Rewrites nodes of older versions of the operators into their form in kOptimizedOpset, and leaves newer ones as they
/// are. Where that is not known for some nodes, nothing changes, and they are listed.
std::vector<std::string> upgrade_operators(EditedGraph& model);

}  // namespace thalweg
