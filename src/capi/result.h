// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "thalweg/c_api.h"
#include "thalweg/tensor.h"

struct tw_result {
  std::vector<thalweg::Tensor> tensors;
  std::string text;
};

namespace thalweg::capi {

/// Views of the caller's tensors; throws if one is not well formed.
std::vector<Tensor> tensors_from(const tw_tensor* given, size_t count);

}  // namespace thalweg::capi
