// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "thalweg/graph.h"

namespace thalweg::onnx {

/// The version of ONNX's operators from which weights can have a scale for each channel.
inline constexpr int64_t kUpgradedOpset = 13;

/// Gives the nodes of ONNX's own operators in a graph that was imported from version `from` the form that version
/// kUpgradedOpset asks for. Returns the nodes that cannot be given it, as messages name them; if there are any, the
/// graph stays as it was.
std::vector<std::string> upgrade(Graph& graph, int64_t from);

}  // namespace thalweg::onnx
