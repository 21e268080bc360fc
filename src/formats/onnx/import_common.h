// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// What converters of several families share.
#pragma once

#include "formats/onnx/converter.h"

namespace thalweg::onnx {

Value* zero_like(Value* x);
/// Of integers as well.
Value* absolute(Value* x);
/// Input 1 as broadcasting lines it up with input 0. Before opset 7 that was only done where the node asked for it, and
/// at dimensions that it could choose.
Value* aligned_operand(const NodeContext& context);
/// A constant i64 [count]: 0, 1, 2, ...
Value* positions_of(const NodeContext& context, int64_t count);
/// A possibly negative axis of a value with `rank` dimensions; throws if there is no such axis.
int64_t normal_axis(const NodeContext& context, int64_t axis, int64_t rank);
/// The shape of an input whose dimensions must all be known.
Shape static_shape(const NodeContext& context, const Value* value);

/// Attributes of convolutions and pools, with automatic padding resolved.
struct WindowAttributes {
  std::vector<int64_t> kernel, strides, dilations;
  std::vector<int64_t> pads;  ///< all begins, then all ends
};
/// `kernel` is used where the node has no kernel_shape. Throws if automatic padding needs sizes that are free.
WindowAttributes read_window(const NodeContext& context, const Shape& x, const std::vector<int64_t>& kernel = {});

}  // namespace thalweg::onnx
