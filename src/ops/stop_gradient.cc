// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "graph/op_registry.h"
#include "ops/ids.h"
#include "thalweg/ops/shape.h"

namespace thalweg {
namespace {

const RegisterOp kStopGradient(op::kStopGradient, 1, "x, through which no gradient passes.", same_as_input(), nullptr,
                               {}, {.zero_gradient = true, .traits = Trait::kFollowsBf16 | Trait::kTrainingOnly});

}  // namespace

namespace ops {

Value* stop_gradient(Value* x) { return x->graph().add(op::kStopGradient, {x})->output(); }

}  // namespace ops
}  // namespace thalweg
