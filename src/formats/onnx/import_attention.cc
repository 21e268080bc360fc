// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Attention and rotary position embeddings.
#include "formats/onnx/import_attention.h"

#include <cmath>
#include <limits>

#include "formats/onnx/tensor_data.h"
#include "thalweg/ops.h"

namespace thalweg::onnx {

Value* by_head(const NodeContext& context, Value* x, int64_t heads) {
  if (x->shape().rank() == 4) return x;
  context.require(x->shape().rank() == 3 && heads > 0, "inputs of shape ", x->shape(), " need a number of heads");
  return ops::transpose(ops::reshape(x, {0, 0, heads, -1}), {0, 2, 1, 3});
}

Value* repeat_heads(Value* x, int64_t times) {
  if (times == 1) return x;
  const Shape shape = x->shape();
  Value* spread = ops::expand(ops::unsqueeze(x, {2}), {shape[0], shape[1], times, shape[2], shape[3]});
  return ops::reshape(spread, {shape[0], shape[1] * times, shape[2], shape[3]});
}

Value* turned(Value* x, Value* cosine, Value* sine, bool interleaved, int64_t width) {
  const Shape shape = x->shape();
  const int64_t half = width / 2;
  const auto part = [&](int64_t index) {
    return interleaved ? ops::slice(x, {index}, {width}, {3}, {2})
                       : ops::slice(x, {index * half}, {(index + 1) * half}, {3});
  };
  cosine = ops::unsqueeze(cosine, {2});
  sine = ops::unsqueeze(sine, {2});
  Value* real = ops::sub(ops::mul(cosine, part(0)), ops::mul(sine, part(1)));
  Value* imaginary = ops::add(ops::mul(sine, part(0)), ops::mul(cosine, part(1)));
  Value* y = ops::concat({real, imaginary}, 3);
  if (interleaved) {
    y = ops::reshape(ops::concat({ops::unsqueeze(real, {4}), ops::unsqueeze(imaginary, {4})}, 4),
                     {shape[0], shape[1], shape[2], width});
  }
  return width < shape[3] ? ops::concat({y, ops::slice(x, {width}, {shape[3]}, {3})}, 3) : y;
}

namespace {

constexpr double kMasked = -std::numeric_limits<double>::infinity();

enum Input : size_t { kQ, kK, kV, kMask, kPastKey, kPastValue, kLengths };

/// What is added to the scores: 0 where a query sees a key, -infinity where it does not.
Value* as_bias(const NodeContext& context, Value* seen, DType dtype) {
  Value* zero = context.constant(Tensor::scalar<double>(0.0).to(dtype));
  Value* masked = context.constant(Tensor::scalar<double>(kMasked).to(dtype));
  return ops::where(seen, zero, masked);
}

/// Keys beyond the end of the mask are not seen.
Value* mask_bias(const NodeContext& context, int64_t keys, DType dtype) {
  Value* mask = context.input(kMask);
  mask = mask->dtype() == DType::kBool ? as_bias(context, mask, dtype) : ops::cast(mask, dtype);
  const int rank = mask->shape().rank();
  const int64_t missing = keys - mask->shape()[-1];
  if (missing <= 0) return mask;
  std::vector<int64_t> pads(static_cast<size_t>(2 * rank), 0);
  pads.back() = missing;
  return ops::pad(mask, pads, "constant", kMasked);
}

/// The distance of each query to each key: how far the key lies back. [T, S], or [B, 1, T, S] if every sequence of a
/// cache has a length of its own.
Value* distances(const NodeContext& context, int64_t queries, int64_t keys, int64_t past) {
  Value* query = ops::reshape(positions_of(context, queries), {queries, 1});
  Value* key = positions_of(context, keys);
  if (context.has(kLengths) && !context.has(kPastKey)) {
    Value* offset = ops::sub(ops::cast(context.input(kLengths), DType::kI64), static_cast<double>(queries));
    query = ops::add(query, ops::reshape(offset, {-1, 1, 1, 1}));
  } else {
    query = ops::add(query, static_cast<double>(past));
  }
  return ops::sub(query, key);
}

Value* plus(Value* a, Value* b) { return a == nullptr ? b : ops::add(a, b); }

/// All masks together; null if every query sees every key.
Value* attention_bias(const NodeContext& context, const Shape& q, const Shape& k, int64_t past, DType dtype) {
  Value* bias = context.has(kMask) ? mask_bias(context, k[2], dtype) : nullptr;
  const auto number = [&](int64_t value) { return context.constant(Tensor::scalar<int64_t>(value)); };
  const int64_t left = context.integer("left_window_size", -1), right = context.integer("right_window_size", -1);
  if (context.flag("is_causal", false) || left >= 0 || right >= 0) {
    Value* back = distances(context, q[2], k[2], past);
    if (context.flag("is_causal", false)) {
      bias = plus(bias, as_bias(context, ops::greater_equal(back, number(0)), dtype));
    }
    if (left >= 0) bias = plus(bias, as_bias(context, ops::less_equal(back, number(left)), dtype));
    if (right >= 0) bias = plus(bias, as_bias(context, ops::greater_equal(back, number(-right)), dtype));
  }
  if (context.has(kLengths)) {
    Value* lengths = ops::reshape(ops::cast(context.input(kLengths), DType::kI64), {-1, 1, 1, 1});
    bias = plus(bias, as_bias(context, ops::less(positions_of(context, k[2]), lengths), dtype));
  }
  return bias;
}

/// Softmax that gives 0 for a query that sees no key.
Value* masked_softmax(const NodeContext& context, Value* scores, Value* bias) {
  const DType dtype = scores->dtype();
  if (context.has_attribute("softmax_precision")) {
    const auto wide = dtype_of(static_cast<DataType>(context.integer("softmax_precision", 1)));
    context.require(wide.has_value(), "the softmax_precision asked for is not supported");
    scores = ops::cast(scores, *wide);
  }
  Value* probability = ops::softmax(scores, -1, context.name());
  if (bias != nullptr) {
    Value* most = ops::reduce_max(bias, {-1}, true);
    Value* blind = ops::equal(most, ops::scalar_like(most, kMasked));
    probability = ops::where(blind, zero_like(probability), probability);
  }
  return ops::cast(probability, dtype);
}

bool engine_can(const NodeContext& context, const Value* q, const Value* k, const Value* v) {
  for (size_t i = kMask; i <= kLengths; ++i) {
    if (context.has(i)) return false;
  }
  return !context.wants(3) && context.real("softcap", 0.0) == 0.0 && context.integer("left_window_size", -1) < 0 &&
         context.integer("right_window_size", -1) < 0 && q->dtype() == DType::kF32 && q->shape()[1] == k->shape()[1] &&
         k->shape() == v->shape() && (!context.flag("is_causal", false) || q->shape()[2] == k->shape()[2]);
}

struct Attended {
  Value* y;
  Value* scores;
};

Attended attend(const NodeContext& context, Value* q, Value* k, Value* v, int64_t past) {
  const double scale = context.real("scale", 1.0 / std::sqrt(static_cast<double>(q->shape()[3])));
  if (engine_can(context, q, k, v)) {
    return {ops::attention(q, k, v, nullptr, scale, context.flag("is_causal", false), context.name()), nullptr};
  }
  const int64_t heads = q->shape()[1], shared = k->shape()[1];
  context.require(shared > 0 && heads % shared == 0, heads, " heads of queries do not divide by ", shared);
  k = repeat_heads(k, heads / shared);
  v = repeat_heads(v, heads / shared);
  Value* scores = ops::matmul(ops::mul(q, std::sqrt(scale)), ops::mul(k, std::sqrt(scale)), false, true);
  const double cap = context.real("softcap", 0.0);
  const int64_t mode = context.integer("qk_matmul_output_mode", 0);
  if (cap > 0) scores = ops::mul(ops::tanh(ops::div(scores, cap)), cap);
  Value* shown = scores;
  Value* bias = attention_bias(context, q->shape(), k->shape(), past, q->dtype());
  if (bias != nullptr) scores = ops::add(scores, bias);
  if (mode == 2) shown = scores;
  Value* probability = masked_softmax(context, scores, bias);
  if (mode == 3) shown = probability;
  return {ops::matmul(probability, v), shown};
}

std::vector<Value*> attention(const NodeContext& context) {
  const bool flat = context.input(kQ)->shape().rank() == 3;
  const int64_t heads = context.integer("q_num_heads", 0), shared = context.integer("kv_num_heads", 0);
  for (const size_t i : {kQ, kK, kV}) static_shape(context, context.input(i));
  Value* q = by_head(context, context.input(kQ), heads);
  Value* k = by_head(context, context.input(kK), shared);
  Value* v = by_head(context, context.input(kV), shared);
  int64_t past = 0;
  if (context.has(kPastKey)) {
    past = static_shape(context, context.input(kPastKey))[2];
    k = ops::concat({context.input(kPastKey), k}, 2);
    v = ops::concat({context.input(kPastValue), v}, 2);
  }
  // Two-byte floats are widened once rather than rounded after every step.
  const DType dtype = q->dtype();
  const DType wide = dtype == DType::kF64 ? dtype : DType::kF32;
  Attended result = attend(context, ops::cast(q, wide), ops::cast(k, wide), ops::cast(v, wide), past);
  result.y = ops::cast(result.y, dtype);
  if (result.scores != nullptr) result.scores = ops::cast(result.scores, dtype);
  if (flat) result.y = ops::reshape(ops::transpose(result.y, {0, 2, 1, 3}), {0, 0, -1});
  return {result.y, k, v, result.scores};
}

/// Turns pairs of features by angles that grow with the position.
Value* rotary_embedding(const NodeContext& context) {
  Value* x = context.input(0);
  const Shape original = static_shape(context, x);
  const bool flat = original.rank() == 3;
  // Batch, time, head, feature.
  x = flat ? ops::reshape(x, {original[0], original[1], context.integer("num_heads", 0), -1})
           : ops::transpose(x, {0, 2, 1, 3});
  const Shape shape = x->shape();
  Value* cosine = context.input(1);
  Value* sine = context.input(2);
  if (context.has(3)) {
    cosine = ops::gather(cosine, context.input(3), 0);
    sine = ops::gather(sine, context.input(3), 0);
  }
  int64_t width = context.integer("rotary_embedding_dim", 0);
  if (width == 0) width = shape[3];
  const int64_t half = width / 2;
  cosine = ops::slice(cosine, {0}, {half}, {2});
  sine = ops::slice(sine, {0}, {half}, {2});
  Value* y = turned(x, cosine, sine, context.flag("interleaved", false), width);
  return flat ? ops::reshape(y, original.dims()) : ops::transpose(y, {0, 2, 1, 3});
}

const RegisterConverters kConverters({
    {"Attention", attention},
    {"RotaryEmbedding", single(rotary_embedding)},
});

}  // namespace
}  // namespace thalweg::onnx
