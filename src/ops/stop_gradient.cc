// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "graph/op_registry.h"
#include "thalweg/ops/shape.h"

namespace thalweg {
namespace {

const RegisterOp kStopGradient({"stop_gradient", 1, 1, same_as_input(), nullptr, true});

}  // namespace

namespace ops {

Value* stop_gradient(Value* x) { return x->graph().add("stop_gradient", {x})->output(); }

}  // namespace ops
}  // namespace thalweg
