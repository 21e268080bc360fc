// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/import_common.h"

#include <algorithm>
#include <numeric>

#include "ops/window.h"
#include "thalweg/ops.h"

namespace thalweg::onnx {

Value* zero_like(Value* x) { return ops::scalar_like(x, 0.0); }

Value* absolute(Value* x) {
  if (is_floating(x->dtype())) return ops::abs(x);
  return ops::where(ops::less(x, zero_like(x)), ops::sub(zero_like(x), x), x);
}

Value* aligned_operand(const NodeContext& context) {
  Value* b = context.input(1);
  if (context.opset() >= 7 || !context.flag("broadcast", false) || !context.has_attribute("axis")) return b;
  const int rank = context.input(0)->shape().rank();
  const int64_t axis = normal_axis(context, context.integer("axis", 0), rank);
  std::vector<int64_t> after;
  context.require(b->shape().rank() <= rank - axis, "input 1 of shape ", b->shape(), " does not fit at axis ", axis);
  for (int64_t d = axis + b->shape().rank(); d < rank; ++d) after.push_back(d - axis);
  return after.empty() ? b : ops::unsqueeze(b, after);
}

Value* positions_of(const NodeContext& context, int64_t count) {
  Tensor positions(DType::kI64, {count});
  std::iota(positions.data<int64_t>(), positions.data<int64_t>() + count, int64_t{0});
  return context.constant(positions);
}

int64_t normal_axis(const NodeContext& context, int64_t axis, int64_t rank) {
  context.require(axis >= -rank && axis < rank, "axis ", axis, " does not exist; the input has ", rank, " dimensions");
  return axis < 0 ? axis + rank : axis;
}

Shape static_shape(const NodeContext& context, const Value* value) {
  context.require(value->shape().is_static(), "all dimensions must be known, not only ", value->shape());
  return value->shape();
}

namespace {

/// Pads that make the output as large as the input divided by the stride, rounded up.
void pad_same(const NodeContext& context, const Shape& x, bool upper, WindowAttributes& window) {
  const size_t rank = window.kernel.size();
  for (size_t d = 0; d < rank; ++d) {
    const int64_t in = x[static_cast<int>(d) + 2];
    context.require(in != kFree, "automatic padding needs known spatial sizes, not ", x);
    const int64_t out = (in + window.strides[d] - 1) / window.strides[d];
    const int64_t reach = (window.kernel[d] - 1) * window.dilations[d] + 1;
    const int64_t total = std::max<int64_t>(0, (out - 1) * window.strides[d] + reach - in);
    window.pads[d] = upper ? total / 2 : total - total / 2;
    window.pads[rank + d] = total - window.pads[d];
  }
}

}  // namespace

WindowAttributes read_window(const NodeContext& context, const Shape& x, const std::vector<int64_t>& kernel) {
  WindowAttributes window;
  context.require(x.rank() >= 3, "the input must be [N, C, spatial...], not ", x);
  const auto rank = static_cast<size_t>(x.rank() - 2);
  window.kernel = context.integers("kernel_shape", kernel);
  window.strides = context.integers("strides", std::vector<int64_t>(rank, 1));
  window.dilations = context.integers("dilations", std::vector<int64_t>(rank, 1));
  window.pads = context.integers("pads", std::vector<int64_t>(2 * rank, 0));
  context.require(window.kernel.size() == rank && window.strides.size() == rank && window.dilations.size() == rank &&
                      window.pads.size() == 2 * rank,
                  "kernel_shape, strides, dilations or pads do not fit ", rank, " spatial dimensions");
  for (size_t d = 0; d < rank; ++d) {
    for (const int64_t item : {window.strides[d], window.dilations[d]}) {
      context.require(item >= 1 && item <= kMostWindow, "strides and dilations must be between 1 and ", kMostWindow,
                      ", not ", item);
    }
    context.require(window.kernel[d] >= 1 && window.kernel[d] <= kMostElements, "a kernel of size ", window.kernel[d]);
  }
  const std::string padding = context.text("auto_pad", "NOTSET");
  if (padding == "SAME_UPPER" || padding == "SAME_LOWER") {
    pad_same(context, x, padding == "SAME_UPPER", window);
  } else if (padding == "VALID") {
    window.pads.assign(2 * rank, 0);
  } else {
    context.require(padding == "NOTSET" || padding.empty(), "unknown auto_pad '", padding, "'");
  }
  return window;
}

}  // namespace thalweg::onnx
