// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "graph/op_registry.h"
#include "ops/ids.h"
#include "thalweg/ops/shape.h"

namespace thalweg {
namespace {

const RegisterOp kStopGradient({.name = op::kStopGradient,
                                .infer = same_as_input(),
                                .zero_gradient = true,
                                .doc = "x, through which no gradient passes.",
                                .traits = Trait::kFollowsBf16 | Trait::kTrainingOnly});

}  // namespace

namespace ops {

Value* stop_gradient(Value* x) { return x->graph().add(op::kStopGradient, {x})->output(); }

}  // namespace ops
}  // namespace thalweg
