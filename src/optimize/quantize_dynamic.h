// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "optimize/edited_graph.h"

namespace thalweg {

/// Products with a matrix of weights quantise their other side in each run, by what its range is then; weights become
/// i8 with a scale for each column. Gives the number of products. The opset must be
/// at least onnx::kUpgradedOpset.
int quantize_dynamically(EditedGraph& model);

}  // namespace thalweg
