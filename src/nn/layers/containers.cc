// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/nn/module.h"
#include "thalweg/ops/elementwise.h"
#include "thalweg/ops/shape.h"

namespace thalweg::nn {
namespace {

Scope scope_of(const Scope& parent, const Module& module, size_t index) {
  return module.name().empty() ? parent.sub(index) : parent.sub(module.name());
}

std::vector<Value*> forward_all(const std::vector<Module>& branches, const Scope& scope, Value* x) {
  std::vector<Value*> results;
  for (size_t i = 0; i < branches.size(); ++i) {
    results.push_back(branches[i].forward(scope_of(scope, branches[i], i), x));
  }
  return results;
}

}  // namespace

Sequential& Sequential::add(Module module) {
  modules_.push_back(std::move(module));
  return *this;
}

Value* Sequential::forward(const Scope& scope, Value* x) const {
  for (size_t i = 0; i < modules_.size(); ++i) x = modules_[i].forward(scope_of(scope, modules_[i], i), x);
  return x;
}

Value* Concat::forward(const Scope& scope, Value* x) const {
  scope.require(!branches_.empty(), "Concat", "there are no branches");
  return ops::concat(forward_all(branches_, scope, x), axis_);
}

Value* Sum::forward(const Scope& scope, Value* x) const {
  scope.require(!branches_.empty(), "Sum", "there are no branches");
  const std::vector<Value*> parts = forward_all(branches_, scope, x);
  Value* sum = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) sum = ops::add(sum, parts[i], scope.path());
  return sum;
}

Value* Residual::forward(const Scope& scope, Value* x) const {
  return ops::add(body_.forward(scope, x), x, scope.path());
}

Value* TimeDistributed::forward(const Scope& scope, Value* x) const {
  const Shape& shape = x->shape();
  scope.require(shape.rank() >= 3, "TimeDistributed", "takes [N, T, ...], got ", shape);
  scope.require(shape[1] != kFree, "TimeDistributed", "the number of time steps of ", shape, " must be known");
  std::vector<int64_t> merged{-1};
  for (int i = 2; i < shape.rank(); ++i) merged.push_back(shape[i]);
  Value* y = body_.forward(scope, ops::reshape(x, merged));
  std::vector<int64_t> split{-1, shape[1]};
  for (int i = 1; i < y->shape().rank(); ++i) split.push_back(y->shape()[i]);
  return ops::reshape(y, split);
}

}  // namespace thalweg::nn
