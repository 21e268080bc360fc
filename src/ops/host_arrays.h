// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Arrays in the hands of the host: parts along an axis, taken apart and put together.
#pragma once

#include <vector>

#include "thalweg/tensor.h"

namespace thalweg {

/// A possibly negative axis of `rank` dimensions; throws if there is none.
int checked_axis(int64_t axis, int rank);

/// Parts `kept` along `axis`, in that order, which may repeat. They must be in [0, extent).
Tensor take(const Tensor& x, int axis, const std::vector<int64_t>& kept);

/// Tensors that differ along `axis` at most, one after another. Throws if there are none or they do not fit.
Tensor join(const std::vector<Tensor>& parts, int axis);

/// Tensors of one type, one after another along a dimension of their own at `axis`.
Tensor stack(const std::vector<Tensor>& parts, int axis);

}  // namespace thalweg
