// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "graph/op_registry.h"
#include "ops/window.h"
#include "thalweg/ops/conv.h"

namespace thalweg {

/// The convolution that a node computes or differentiates: y = conv(x, w). For the gradients, and for the transposed
/// convolution (which is a data gradient), x, w and y are the roles in that underlying convolution.
struct ConvGeometry {
  Window window;
  int64_t groups = 1;
  Shape x;  ///< [N, C, in...]
  Shape w;  ///< [O, C/groups, kernel...]
  Shape y;  ///< [N, O, out...]

  size_t rank() const { return window.rank(); }
};

inline ConvGeometry conv_geometry(const Attributes& attrs, const Shape& x, const Shape& w, const Shape& y) {
  return {read_window(attrs, spatial_dims(w)), attrs.integer("groups"), x, w, y};
}

/// For the nodes conv, quantized_conv, conv_grad_data, conv_grad_weights and conv_transpose.
ConvGeometry conv_geometry(const Node& node);

/// What the activation of a convolution keeps its results within, if that is all it does (relu and clip).
struct ConvBounds {
  bool present = false;
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};
ConvBounds conv_bounds(const Attributes& attrs);

/// The shape of conv(x, w) with the node's window; throws if they do not fit.
Shape conv_output(const InferContext& context, const Shape& x, const Shape& w);

/// All but the activation.
Attributes conv_attributes(const ops::ConvOptions& options);

}  // namespace thalweg
