// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// is_nan(x): a number that is none differs from itself.
#include "graph/compose.h"
#include "thalweg/ops/elementwise.h"

namespace thalweg {
namespace {

std::vector<TensorType> infer(const InferContext& context) { return {{DType::kBool, context.shape(0)}}; }

std::vector<Value*> compose(const ComposeContext& context) {
  return {ops::logical_not(ops::equal(context.input(0), context.input(0)))};
}

const RegisterOp kIsNan(OpId{"is_nan"}, 1, "Whether x is not a number.", infer, nullptr, {},
                        {.zero_gradient = true,
                         .compose = compose,
                         .traits = Trait::kElementwise,
                         .onnx = {{"IsNaN", 9}},
                         .torch = {"isnan.default"}});

}  // namespace
}  // namespace thalweg
