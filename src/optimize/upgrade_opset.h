// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "optimize/model_editor.h"

namespace thalweg {

/// The first opset that has scales by channel and bf16.
inline constexpr int64_t kOptimizedOpset = 13;

/// Rewrites a model of an older opset to kOptimizedOpset; newer ones stay as they are. Gives descriptions of the nodes
/// for which that cannot be done; if there are any the model is left unchanged.
std::vector<std::string> upgrade_opset(ModelEditor& model);

}  // namespace thalweg
