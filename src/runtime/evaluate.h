// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "thalweg/graph.h"

namespace thalweg {

/// The outputs of a static node whose inputs are all constant, by its plain kernel. False if there is none.
bool evaluate(const Node& node, std::vector<Tensor>& results);

}  // namespace thalweg
