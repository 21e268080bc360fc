// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/nn/activation.h"

#include <map>

#include "base/text.h"
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
  using Function = Value* (*)(Value*);
  static const std::map<std::string, Function> known = {
      {"", [](Value* v) { return v; }},
      {"relu", [](Value* v) { return ops::relu(v); }},
      {"relu6", [](Value* v) { return ops::clip(v, 0, 6); }},
      {"leaky_relu", [](Value* v) { return ops::leaky_relu(v); }},
      {"elu", [](Value* v) { return ops::elu(v); }},
      {"selu", ops::selu},
      {"gelu", [](Value* v) { return ops::gelu(v); }},
      {"gelu_tanh", [](Value* v) { return ops::gelu(v, true); }},
      {"silu", ops::silu},
      {"mish", ops::mish},
      {"sigmoid", ops::sigmoid},
      {"log_sigmoid", ops::log_sigmoid},
      {"hard_sigmoid", ops::hard_sigmoid},
      {"hard_swish", ops::hard_swish},
      {"tanh", ops::tanh},
      {"softplus", [](Value* v) { return ops::softplus(v); }},
      {"softsign", ops::softsign},
  };
  const auto found = known.find(name);
  if (found == known.end()) {
    std::vector<std::string> names;
    for (const auto& [key, function] : known) names.push_back(key);
    scope.require(false, "activation", "there is none called '", name, "'; did you mean ", nearest_names(name, names),
                  "?");
  }
  return found->second(x);
}

}  // namespace thalweg::nn
