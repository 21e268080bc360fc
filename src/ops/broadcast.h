// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/op_registry.h"

namespace thalweg {

/// The numpy broadcast of two shapes. A free dimension meets 1 or a free one as free, and takes any other size on
/// trust.
Shape broadcast_shapes(const InferContext& context, const Shape& a, const Shape& b);

}  // namespace thalweg
