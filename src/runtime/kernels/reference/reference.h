// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "graph/reference_call.h"
#include "runtime/kernel.h"

namespace thalweg {

/// Registers at start-up as the last candidate for the op: for those whose own file has no plain form
/// (OpDef::reference).
struct RegisterReference {
  RegisterReference(const std::string& op, ReferenceFunction function);
};

/// Does so for every op whose own file has one. Called once all are registered.
void register_op_references();

}  // namespace thalweg
