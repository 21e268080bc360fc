// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/op_registry.h"

namespace thalweg {

/// Composes a standard operator that an op lists as its own (OpDef::onnx): of a node of that op.
ComposeRule one_to_one_rule(const std::string& op, OnnxName name);

}  // namespace thalweg
