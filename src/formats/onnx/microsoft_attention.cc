// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Attention in the forms of the domain com.microsoft, which ONNX Runtime's optimiser and generators of text write.
#include <cmath>
#include <limits>

#include "formats/onnx/import_attention.h"
#include "formats/onnx/import_quantized.h"
#include "thalweg/ops.h"

namespace thalweg::onnx {
namespace {

/// What has to be said of scores before they become probabilities.
struct Scoring {
  double scale;
  Value* bias = nullptr;  ///< added, broadcast to [B, H, T, S]
  bool causal = false;
  double softcap = 0;
  Value* sink = nullptr;  ///< [H or 1]: the score of a key that has no value
};

Value* plus(Value* a, Value* b) { return a == nullptr ? b : b == nullptr ? a : ops::add(a, b); }

DType wide_of(const Value* x) { return x->dtype() == DType::kF64 ? DType::kF64 : DType::kF32; }

/// -infinity where a query must not see a key.
Value* hidden_unless(Value* seen, DType dtype) {
  Graph& graph = seen->graph();
  const auto number = [&](double value) { return graph.constant(Tensor::scalar<double>(value).to(dtype)); };
  return ops::where(seen, number(0.0), number(-std::numeric_limits<double>::infinity()));
}

/// q [B, H, T, D], k and v [B, H, S, D], of a floating type: [B, H, T, D].
Value* attend(const NodeContext& context, Value* q, Value* k, Value* v, const Scoring& how) {
  const DType dtype = q->dtype(), wide = wide_of(q);
  const int64_t heads = q->shape()[1], shared = k->shape()[1];
  context.require(shared > 0 && heads % shared == 0, heads, " heads of queries do not divide by ", shared);
  q = ops::cast(q, wide);
  k = repeat_heads(ops::cast(k, wide), heads / shared);
  v = repeat_heads(ops::cast(v, wide), heads / shared);
  if (how.softcap == 0 && how.sink == nullptr) {
    return ops::cast(ops::attention(q, k, v, how.bias, how.scale, how.causal, context.name()), dtype);
  }
  Value* scores = ops::mul(ops::matmul(q, k, false, true), how.scale);
  if (how.softcap > 0) scores = ops::mul(ops::tanh(ops::div(scores, how.softcap)), how.softcap);
  scores = plus(scores, how.bias);
  const int64_t queries = q->shape()[2], keys = k->shape()[2];
  if (how.causal) {
    Value* query =
        ops::add(ops::reshape(positions_of(context, queries), {queries, 1}), static_cast<double>(keys - queries));
    scores = ops::add(scores, hidden_unless(ops::greater_equal(query, positions_of(context, keys)), wide));
  }
  if (how.sink != nullptr) {
    Value* sink = ops::reshape(ops::cast(how.sink, wide), {1, -1, 1, 1});
    sink = ops::expand(sink, {q->shape()[0], heads, queries, 1});
    scores = ops::slice(ops::softmax(ops::concat({scores, sink}, 3), 3), {0}, {keys}, {3});
  } else {
    scores = ops::softmax(scores, 3);
  }
  return ops::cast(ops::matmul(scores, v), dtype);
}

/// [B, H, T, D] as [B, T, H * D].
Value* heads_joined(Value* y) { return ops::reshape(ops::transpose(y, {0, 2, 1, 3}), {0, 0, -1}); }

/// A mask of 0 and 1, or lengths, as what is added to scores of `keys` keys.
Value* mask_bias(const NodeContext& context, Value* mask, int64_t batch, int64_t queries, int64_t keys, DType dtype) {
  const Shape shape = static_shape(context, mask);
  const double filter = context.real("mask_filter_value", -10000.0);
  const auto hidden = [&](Value* seen) {
    Value* zero = context.constant(Tensor::scalar<double>(0.0).to(dtype));
    return ops::where(seen, zero, context.constant(Tensor::scalar<double>(filter).to(dtype)));
  };
  Value* places = ops::cast(positions_of(context, keys), mask->dtype());
  if (shape.rank() == 1) {
    context.require(shape[0] == batch || shape[0] == 2 * batch, "a mask of shape ", shape, " for a batch of ", batch,
                    " is not supported");
    const auto part = [&](int64_t index) {
      return ops::reshape(ops::slice(mask, {index * batch}, {(index + 1) * batch}, {0}), {batch, 1, 1, 1});
    };
    Value* seen = ops::less(places, part(0));
    if (shape[0] == 2 * batch) seen = ops::logical_and(seen, ops::greater_equal(places, part(1)));
    return hidden(seen);
  }
  context.require(shape.rank() <= 4 && shape[-1] >= keys, "a mask of shape ", shape, " for ", keys, " keys");
  mask = ops::slice(mask, {0}, {keys}, {shape.rank() - 1});
  if (shape.rank() == 2) mask = ops::unsqueeze(mask, {1, 2});
  if (shape.rank() == 3) mask = ops::unsqueeze(mask, {1});
  if (shape.rank() == 4) {
    context.require(shape[2] >= keys && keys >= queries, "a mask of shape ", shape, " for ", keys, " keys");
    mask = ops::slice(mask, {keys - queries}, {keys}, {2});
  }
  return hidden(ops::greater(mask, zero_like(mask)));
}

struct Heads {
  Value *q, *k, *v;
};

/// The parts of a projection, [B, T, q + k + v], by head.
Heads projected(const NodeContext& context, Value* joined, int64_t heads) {
  std::vector<int64_t> sizes = context.integers("qkv_hidden_sizes");
  if (sizes.empty()) {
    context.require(joined->shape()[2] % 3 == 0, joined->shape()[2], " features are not queries, keys and values");
    sizes.assign(3, joined->shape()[2] / 3);
  }
  context.require(sizes.size() == 3 && heads > 0, "qkv_hidden_sizes must be three, and num_heads positive");
  for (const int64_t size : sizes) context.require(size % heads == 0, size, " features for ", heads, " heads");
  const std::vector<Value*> parts = ops::split(joined, sizes, 2);
  return {by_head(context, parts[0], heads), by_head(context, parts[1], heads), by_head(context, parts[2], heads)};
}

/// Attention with itself: `joined` is the projection of the input, the other inputs have these numbers.
std::vector<Value*> self_attention(const NodeContext& context, Value* joined, size_t mask, size_t past, size_t bias) {
  context.require(!context.flag("do_rotary", false), "do_rotary is not supported");
  context.require(!context.flag("past_present_share_buffer", false), "a shared buffer for the past is not supported");
  static_shape(context, joined);
  Heads own = projected(context, joined, context.integer("num_heads", 0));
  Value* present = nullptr;
  if (context.has(past)) {
    const auto part = [&](int64_t index) {
      return ops::squeeze(ops::slice(context.input(past), {index}, {index + 1}, {0}), {0});
    };
    own.k = ops::concat({part(0), own.k}, 2);
    own.v = ops::concat({part(1), own.v}, 2);
  }
  if (context.wants(1)) present = ops::concat({ops::unsqueeze(own.k, {0}), ops::unsqueeze(own.v, {0})}, 0);
  const int64_t batch = own.q->shape()[0], queries = own.q->shape()[2], keys = own.k->shape()[2];
  Scoring how{context.real("scale", 0.0), nullptr, context.flag("unidirectional", false)};
  if (how.scale == 0) how.scale = 1.0 / std::sqrt(static_cast<double>(own.q->shape()[3]));
  if (context.has(mask)) how.bias = mask_bias(context, context.input(mask), batch, queries, keys, wide_of(own.q));
  if (bias > 0 && context.has(bias)) how.bias = plus(how.bias, ops::cast(context.input(bias), wide_of(own.q)));
  return {heads_joined(attend(context, own.q, own.k, own.v, how)), present};
}

std::vector<Value*> attention(const NodeContext& context) {
  Value* joined = ops::matmul(context.input(0), context.input(1));
  if (context.has(2)) joined = ops::add(joined, context.input(2));
  return self_attention(context, joined, 3, 4, 5);
}

std::vector<Value*> quantized_attention(const NodeContext& context) {
  Value* x = real_numbers(context, context.input(0), context.input(3), context.optional(6), -1);
  Value* weight = real_numbers(context, context.input(1), context.input(4), context.optional(7), 1);
  return self_attention(context, ops::add(ops::matmul(x, weight), context.input(2)), 5, 8, 0);
}

/// Part `index` of [B, T, H, parts, D], by head.
Value* packed_part(Value* packed, int64_t index) {
  return ops::transpose(ops::squeeze(ops::slice(packed, {index}, {index + 1}, {3}), {3}), {0, 2, 1, 3});
}

/// Queries, keys and values, together or apart, with what is to be added to them.
Heads given_heads(const NodeContext& context, int64_t heads) {
  Value* q = context.input(0);
  if (q->shape().rank() == 5) return {packed_part(q, 0), packed_part(q, 1), packed_part(q, 2)};
  Value* k = context.optional(1);
  Value* v = context.optional(2);
  const bool from_cache = k != nullptr && k->shape().rank() == 4;
  const auto width = [](const Value* x) { return x->shape()[2]; };
  if (context.has(3)) {
    Value* bias = context.input(3);
    const int64_t own = width(q);
    const auto part = [&](int64_t begin, int64_t end) { return ops::slice(bias, {begin}, {end}, {0}); };
    q = ops::add(q, part(0, own));
    if (k != nullptr && v != nullptr && !from_cache) {
      k = ops::add(k, part(own, own + width(k)));
      v = ops::add(v, part(own + width(k), own + width(k) + width(v)));
    }
  }
  q = by_head(context, q, heads);
  context.require(k != nullptr, "keys are missing");
  if (k->shape().rank() == 5) return {q, packed_part(k, 0), packed_part(k, 1)};
  context.require(v != nullptr, "values are missing");
  return {q, by_head(context, k, heads), by_head(context, v, heads)};
}

std::vector<Value*> multi_head_attention(const NodeContext& context) {
  for (const size_t i : {size_t{0}, size_t{1}, size_t{2}}) {
    if (context.has(i)) static_shape(context, context.input(i));
  }
  context.require(!context.has(8) && !context.has(9), "a shared buffer for the past is not supported");
  Heads own = given_heads(context, context.integer("num_heads", 0));
  if (context.has(6)) {
    own.k = ops::concat({context.input(6), own.k}, 2);
    own.v = ops::concat({context.input(7), own.v}, 2);
  }
  const DType wide = wide_of(own.q);
  const int64_t batch = own.q->shape()[0], queries = own.q->shape()[2], keys = own.k->shape()[2];
  Scoring how{context.real("scale", 0.0), nullptr, context.flag("unidirectional", false)};
  if (how.scale == 0) how.scale = 1.0 / std::sqrt(static_cast<double>(own.q->shape()[3]));
  if (context.has(4)) how.bias = mask_bias(context, context.input(4), batch, queries, keys, wide);
  if (context.has(5)) how.bias = plus(how.bias, ops::cast(context.input(5), wide));
  return {heads_joined(attend(context, own.q, own.k, own.v, how)), own.k, own.v};
}

/// Rows of the tables of cosines and sines, [B, T, half], for positions [B, T].
Value* angles(Value* table, Value* positions) { return ops::gather(table, positions, 0); }

/// x [B, H, T, D] by positions [B, T].
Value* rotated(const NodeContext& context, Value* x, Value* cosine, Value* sine, Value* positions, bool interleaved) {
  const int64_t width = 2 * static_shape(context, cosine)[1];
  context.require(width <= x->shape()[3], "angles for ", width, " of ", x->shape()[3], " features");
  Value* by_time = ops::transpose(x, {0, 2, 1, 3});
  Value* y = turned(by_time, angles(cosine, positions), angles(sine, positions), interleaved, width);
  return ops::transpose(y, {0, 2, 1, 3});
}

/// The norm that some models have on each head before it is turned.
Value* head_norm(const NodeContext& context, Value* x, size_t weight) {
  if (!context.has(weight)) return x;
  Value* mean = ops::reduce_mean(ops::square(x), {-1}, true);
  return ops::mul(ops::mul(x, ops::rsqrt(ops::add(mean, context.real("qk_norm_epsilon", 1e-6)))),
                  context.input(weight));
}

/// Keys or values with the past: [B, H, total, D]. Each of the batch goes on where its own past ends; behind that are
/// zeros.
Value* with_past(const NodeContext& context, Value* own, Value* past, Value* lengths, int64_t total) {
  const Shape shape = own->shape();
  const int64_t before = past != nullptr ? static_shape(context, past)[2] : 0;
  if (before == 0 && shape[2] == total) return own;
  context.require(past != nullptr, "there are ", total, " keys in all and no past");
  if (shape[0] == 1 && before + shape[2] == total) return ops::concat({past, own}, 2);
  const int64_t room = std::max(before, total);
  Value* whole = before < room ? ops::pad(past, {0, 0, 0, 0, 0, 0, room - before, 0}) : past;
  Value* place = ops::add(ops::reshape(lengths, {shape[0], 1, 1, 1}),
                          ops::reshape(positions_of(context, shape[2]), {1, 1, shape[2], 1}));
  whole = ops::scatter_elements(whole, ops::expand(place, shape.dims()), own, 2);
  Value* last = ops::add(ops::reshape(lengths, {shape[0], 1, 1, 1}), static_cast<double>(shape[2] - 1));
  Value* used = ops::less_equal(ops::reshape(positions_of(context, room), {room, 1}), last);
  return ops::where(used, whole, zero_like(whole));
}

constexpr size_t kTotal = 6;

std::vector<Value*> group_query_attention(const NodeContext& context) {
  const int64_t heads = context.integer("num_heads", 0), shared = context.integer("kv_num_heads", 0);
  constexpr int64_t kMostHeads = 1 << 20;
  context.require(shared > 0 && heads > 0 && heads <= kMostHeads && heads % shared == 0, heads,
                  " heads of queries for ", shared);
  context.require(
      !context.has(12) && !context.has(13) && !context.flag("sliding_window_cache", false) && !context.wants(3),
      "a quantised or sliding cache, and scores as a result, are not supported");
  Value *q = context.input(0), *k = context.optional(1), *v = context.optional(2);
  const Shape shape = static_shape(context, q);
  context.require(shape.rank() == 3, "queries must be [B, T, features], not ", shape);
  if (k == nullptr) {
    const int64_t width = shape[2] / (heads + 2 * shared);
    context.require(width * (heads + 2 * shared) == shape[2], shape[2], " features for ", heads, " and ", shared,
                    " heads");
    const std::vector<Value*> parts = ops::split(q, {heads * width, shared * width, shared * width}, 2);
    q = parts[0], k = parts[1], v = parts[2];
  }
  context.require(v != nullptr, "values are missing");
  q = head_norm(context, by_head(context, q, heads), 14);
  k = head_norm(context, by_head(context, k, shared), 15);
  v = by_head(context, v, shared);
  const int64_t batch = shape[0], time = shape[1], total = context.content_integer(kTotal);
  context.require(total >= time && total < kMostElements, "there are ", total, " keys in all, fewer than ", time);
  // How long the past of each is: nothing if all keys are new.
  Value* ends = ops::reshape(ops::cast(context.input(5), DType::kI64), {batch, 1});
  Value* lengths = total == time ? context.constant(Tensor::zeros(DType::kI64, {batch, 1}))
                                 : ops::add(ends, static_cast<double>(1 - time));
  Value* positions = ops::add(lengths, ops::reshape(positions_of(context, time), {1, time}));
  if (context.flag("do_rotary", false)) {
    Value* turns = context.has(9) ? ops::cast(context.input(9), DType::kI64) : positions;
    const bool interleaved = context.flag("rotary_interleaved", false);
    q = rotated(context, q, context.input(7), context.input(8), turns, interleaved);
    k = rotated(context, k, context.input(7), context.input(8), turns, interleaved);
  }
  k = with_past(context, k, context.optional(3), lengths, total);
  v = with_past(context, v, context.optional(4), lengths, total);
  Value* present_k = k;
  Value* present_v = v;
  const int64_t keys = k->shape()[2];
  Value* query = ops::reshape(positions, {batch, 1, time, 1});
  Value* key = positions_of(context, keys);
  const bool causal = context.flag("causal", true);
  Value* last = causal ? query : ops::reshape(ends, {batch, 1, 1, 1});
  Value* seen = ops::less_equal(key, last);
  if (const int64_t window = context.integer("local_window_size", -1); window >= 0) {
    seen = ops::logical_and(seen, ops::greater(key, ops::sub(query, static_cast<double>(window))));
  }
  const DType wide = wide_of(q);
  Scoring how{context.real("scale", 0.0), hidden_unless(seen, wide), false, context.real("softcap", 0.0)};
  if (how.scale == 0) how.scale = 1.0 / std::sqrt(static_cast<double>(q->shape()[3]));
  if (context.has(10)) {
    Value* bias = ops::cast(context.input(10), wide);
    const int64_t missing = keys - bias->shape()[-1];
    how.bias = plus(how.bias, missing > 0 ? ops::pad(bias, {0, 0, 0, 0, 0, 0, 0, missing}) : bias);
  }
  if (context.has(11)) how.sink = context.input(11);
  if (how.sink == nullptr && context.flag("smooth_softmax", false))
    how.sink = context.constant(Tensor::zeros(wide, {1}));
  return {heads_joined(attend(context, q, k, v, how)), present_k, present_v};
}

/// Positions are given one by one, or that of the first.
Value* rotary_embedding(const NodeContext& context) {
  Value* x = context.input(0);
  const Shape original = static_shape(context, x);
  const int64_t half = static_shape(context, context.input(2))[1];
  context.require(context.real("scale", 1.0) == 1.0, "a scale is not supported");
  context.require(!context.flag("is_packed_batching", false), "packed batches are not supported");
  const bool flat = original.rank() == 3;
  int64_t heads = context.integer("num_heads", 0);
  if (flat && heads == 0) {
    context.require(original[2] % (2 * half) == 0, original[2], " features for angles of ", 2 * half);
    heads = original[2] / (2 * half);
  }
  Value* by_heads = by_head(context, x, heads);
  const int64_t time = by_heads->shape()[2];
  Value* positions = ops::cast(context.input(1), DType::kI64);
  if (positions->shape().rank() < 2) {
    positions = ops::add(ops::reshape(positions, {1, 1}), ops::reshape(positions_of(context, time), {1, time}));
  }
  Value* y =
      rotated(context, by_heads, context.input(2), context.input(3), positions, context.flag("interleaved", false));
  return flat ? heads_joined(y) : y;
}

const RegisterConverters kConverters(
    {
        {"Attention", attention},
        {"QAttention", quantized_attention},
        {"MultiHeadAttention", multi_head_attention},
        {"GroupQueryAttention", group_query_attention},
        {"RotaryEmbedding", single(rotary_embedding)},
    },
    "com.microsoft");

}  // namespace
}  // namespace thalweg::onnx
