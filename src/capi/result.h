// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "thalweg/c_api.h"
#include "thalweg/tensor.h"

/// What views of texts and sequences point at. Addresses stay as more is added.
struct tw_views {
  std::deque<std::vector<tw_text>> texts;
  std::deque<std::vector<tw_tensor>> items;
};

struct tw_result {
  std::vector<thalweg::Tensor> tensors;
  std::string text;
  /// Made when they are asked for.
  tw_views views = {};
};

namespace thalweg::capi {

/// Views of the caller's tensors, and copies of texts; throws if one is not well formed.
std::vector<Tensor> tensors_from(const tw_tensor* given, size_t count);

/// A view of a tensor of ours, which lives as long as `views`.
tw_tensor view_of(const Tensor& tensor, tw_views& views);

}  // namespace thalweg::capi
