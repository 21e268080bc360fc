// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "thalweg/tensor.h"

namespace thalweg {

/// Maps the linear index of an element of `to` to that of the element of `from` that broadcasting pairs with it.
class BroadcastIndex {
 public:
  BroadcastIndex(const Shape& from, const Shape& to) : identity_(from == to), dims_(to.dims()), strides_(dims_.size()) {
    const std::vector<int64_t> own = from.strides();
    const size_t lead = dims_.size() - own.size();
    for (size_t i = 0; i < own.size(); ++i) {
      strides_[lead + i] = from.dims()[i] == 1 ? 0 : own[i];
    }
  }

  int64_t operator()(int64_t linear) const {
    if (identity_) return linear;
    int64_t offset = 0;
    for (size_t i = dims_.size(); i-- > 0;) {
      offset += linear % dims_[i] * strides_[i];
      linear /= dims_[i];
    }
    return offset;
  }

 private:
  bool identity_;
  std::vector<int64_t> dims_;
  std::vector<int64_t> strides_;
};

}  // namespace thalweg
