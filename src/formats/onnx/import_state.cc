// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Operators that carry a state or a cache from call to call.
#include "formats/onnx/import_common.h"
#include "thalweg/ops.h"

namespace thalweg::onnx {
namespace {

/// A convolution that sees the present and the past only, each channel by itself: [B, C, L].
std::vector<Value*> causal_conv(const NodeContext& context) {
  Value* x = context.input(0);
  Value* weight = context.input(1);
  const Shape shape = static_shape(context, x);
  context.require(shape.rank() == 3 && weight->shape().rank() == 3 && weight->shape()[1] == 1, "the input must be ",
                  "[B, C, L] and the weight [C, 1, k], not ", shape, " and ", weight->shape());
  const int64_t past = weight->shape()[2] - 1;
  context.require(past >= 0, "the weight is empty");
  Value* padded = x;
  if (context.has(3)) {
    padded = past > 0 ? ops::concat({context.input(3), x}, 2) : x;
  } else if (past > 0) {
    padded = ops::pad(x, {0, 0, past, 0, 0, 0});
  }
  const std::string activation = context.text("activation", "none");
  context.require(activation == "none" || activation == "silu" || activation == "swish", "unknown activation '",
                  activation, "'");
  ops::ConvOptions options;
  options.strides = options.dilations = {1};
  options.pads = {0, 0};
  options.groups = shape[1];
  Value* y = ops::conv(padded, weight, context.optional(2), options, context.name());
  const int64_t end = shape[2] + past;
  Value* state = ops::slice(padded, {end - past}, {end}, {2});
  return {activation == "none" ? y : ops::silu(y), state};
}

/// A cache with an update written into it, from a place on that each element of the batch has.
Value* tensor_scatter(const NodeContext& context) {
  Value* cache = context.input(0);
  Value* update = context.input(1);
  const Shape whole = static_shape(context, cache), part = static_shape(context, update);
  const int rank = whole.rank();
  const auto axis = static_cast<int>(normal_axis(context, context.integer("axis", -2), rank));
  context.require(axis > 0 && part.rank() == rank, "the axis must not be that of the batch, and the update of shape ",
                  part, " must have as many dimensions as the cache, of ", whole);
  const std::string mode = context.text("mode", "linear");
  context.require(mode == "linear" || mode == "circular", "unknown mode '", mode, "'");
  std::vector<int64_t> along(static_cast<size_t>(rank), 1), batch = along;
  along[static_cast<size_t>(axis)] = part[axis];
  batch[0] = part[0];
  Value* place = ops::reshape(positions_of(context, part[axis]), along);
  if (context.has(2)) place = ops::add(place, ops::reshape(ops::cast(context.input(2), DType::kI64), batch));
  if (mode == "circular") place = ops::modulo(place, ops::scalar_like(place, static_cast<double>(whole[axis])));
  return ops::scatter_elements(cache, ops::expand(place, part.dims()), update, axis);
}

Value* swiglu(const NodeContext& context) {
  Value* gate = context.input(0);
  const double alpha = context.real("alpha", 1.0);
  Value* open = alpha == 1.0 ? ops::silu(gate) : ops::mul(gate, ops::sigmoid(ops::mul(gate, alpha)));
  return ops::mul(open, context.input(1));
}

/// By doubling: after k rounds each element is the product of the 2^k elements up to it. Right also where some are 0,
/// and so are its gradients.
Value* cumprod(const NodeContext& context) {
  Value* x = context.input(0);
  const Shape shape = static_shape(context, x);
  const auto axis = static_cast<int>(normal_axis(context, context.content_integer(1), shape.rank()));
  const bool reverse = context.flag("reverse", false);
  const int64_t size = shape[axis];
  const auto shifted = [&](Value* value, int64_t by) {
    std::vector<int64_t> pads(static_cast<size_t>(2 * shape.rank()), 0);
    pads[static_cast<size_t>(reverse ? axis + shape.rank() : axis)] = by;
    Value* part = reverse ? ops::slice(value, {by}, {size}, {axis}) : ops::slice(value, {0}, {size - by}, {axis});
    return ops::pad(part, pads, "constant", 1.0);
  };
  if (context.flag("exclusive", false) && size > 0) x = shifted(x, 1);
  for (int64_t by = 1; by < size; by *= 2) x = ops::mul(x, shifted(x, by));
  return x;
}

const RegisterConverters kConverters({
    {"CausalConvWithState", causal_conv},
    {"TensorScatter", single(tensor_scatter)},
    {"SwiGLU", single(swiglu)},
    {"CumProd", single(cumprod)},
});

}  // namespace
}  // namespace thalweg::onnx
