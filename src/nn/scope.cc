// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/nn/scope.h"

namespace thalweg::nn {

Scope Scope::sub(const std::string& name) const {
  Scope result = *this;
  result.path_ = this->name(name);
  return result;
}

Scope Scope::reuse() const {
  Scope result = *this;
  result.reuse_ = true;
  return result;
}

std::string Scope::name(const std::string& local) const { return path_.empty() ? local : path_ + "." + local; }

Value* Scope::parameter(const std::string& local, const Shape& shape, const init::Initializer& initializer) const {
  const std::string full = name(local);
  for (const int64_t size : shape.dims()) {
    TW_REQUIRE(size > 0, "parameter '", full, "' would have a dimension of size ", size,
               ": a layer needs sizes above 0");
  }
  if (reuse_) {
    Value* known = graph_->find(full);
    if (known != nullptr) {
      TW_REQUIRE(known->kind() == Value::Kind::kParameter && known->shape() == shape, "'", full, "' is ",
                 known->shape(), " and cannot be used again as ", shape);
      return known;
    }
  }
  return graph_->parameter(full, initializer(shape, init::key_of(seed_, full)));
}

Value* Scope::state(const std::string& local, const Shape& shape, double value) const {
  return graph_->state(name(local), Tensor::full<float>(shape, static_cast<float>(value)));
}

int64_t Scope::random_seed() const { return static_cast<int64_t>(init::key_of(seed_, path_) >> 1); }

std::vector<int64_t> Size::expand(int rank, const char* what) const {
  if (values_.size() == 1) return std::vector<int64_t>(static_cast<size_t>(rank), values_[0]);
  TW_REQUIRE(static_cast<int>(values_.size()) == rank, what, " needs 1 or ", rank, " numbers, got ", values_.size());
  return values_;
}

}  // namespace thalweg::nn
