// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/nn/activation.h"

#include "base/text.h"
#include "graph/op_registry.h"
#include "thalweg/ops/shape.h"

namespace thalweg::nn {

Value* PReLU::forward(const Scope& scope, Value* x) const {
  return ops::prelu(x, scope.parameter("weight", {num_parameters}, init::constant(init)));
}

Value* GLU::forward(const Scope& scope, Value* x) const {
  const int64_t size = x->shape()[static_cast<int>(dim)];
  scope.require(size != kFree && size % 2 == 0, "GLU", "dimension ", dim, " of ", x->shape(), " cannot be halved");
  const std::vector<Value*> halves = ops::split(x, {size / 2, size / 2}, dim);
  return ops::mul(halves[0], ops::sigmoid(halves[1]));
}

Value* activate(const Scope& scope, const std::string& name, Value* x) {
  if (name.empty()) return x;
  if (name == "relu6") return ops::clip(x, 0, 6);
  const OpDef* op = look_up_op(name);
  if (op != nullptr && op->has(Trait::kActivation)) return x->graph().add(name, {x})->output();
  std::vector<std::string> names{"relu6"};
  for (const std::string& known : op_names()) {
    if (find_op(known).has(Trait::kActivation)) names.push_back(known);
  }
  scope.require(false, "activation", "there is none called '", name, "'; did you mean ", nearest_names(name, names),
                "?");
  return nullptr;
}

}  // namespace thalweg::nn
