// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "optimize/model_editor.h"

namespace thalweg {

/// Batch norms go into the convolutions before them; nodes that pass their input on, and weights that nothing reads,
/// go.
void simplify_model(ModelEditor& model);

}  // namespace thalweg
