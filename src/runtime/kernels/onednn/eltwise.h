// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include "thalweg/graph.h"

namespace thalweg {

/// Adds the function and the affine map of a product's attributes (ops/fused_activation.h) to what oneDNN does with its
/// sums; nothing where there are none.
void append_activation(const Attributes& attrs, dnnl::post_ops& after);

}  // namespace thalweg
