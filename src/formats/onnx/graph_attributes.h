// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "formats/onnx/import_graph.h"
#include "graph/compose.h"
#include "graph/host_op.h"

namespace thalweg::onnx {

/// Whether an attribute of a node is one that the importer sets and no file has: the engine trusts them, so they are
/// neither read from a file nor written to one.
inline bool only_graphs_have(std::string_view name) {
  return name == ComposeContext::kOpsetAttribute || name == kLearns || name == kCaptures || name.ends_with(kCapturesOf);
}

}  // namespace thalweg::onnx
