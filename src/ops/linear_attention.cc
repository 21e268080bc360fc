// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// linear_attention(q, k, v[, past, decay, beta]) -> y, state: attention by a state that every step changes, instead of
// by all earlier steps. q [B, T, Hq * K], k [B, T, H * K], v [B, T, H * V], past and state [B, H, K, V], decay (a
// logarithm) [B, T, H * K or H], beta [B, T, H].
#include <cmath>

#include "graph/op_registry.h"
#include "tensor/dtype.h"

namespace thalweg {
namespace {

enum Input : size_t { kQuery, kKey, kValue, kPast, kDecay, kBeta };

struct Extents {
  int64_t batch, time, q_heads, heads, keys, values;
};

Extents extents(const Attributes& attrs, const Shape& q, const Shape& k, const Shape& v) {
  const int64_t q_heads = attrs.integer("q_num_heads"), heads = attrs.integer("kv_num_heads");
  return {q[0], q[1], q_heads, heads, k[2] / heads, v[2] / heads};
}

std::vector<TensorType> infer(const InferContext& context) {
  for (const size_t i : {kQuery, kKey, kValue}) {
    context.require_rank(i, 3);
    context.require_floating(i);
    context.require(context.shape(i).is_static(), "all dimensions must be known");
  }
  const Shape &q = context.shape(kQuery), &k = context.shape(kKey), &v = context.shape(kValue);
  const Extents e = extents(context.attrs(), q, k, v);
  context.require(e.q_heads % e.heads == 0, e.q_heads, " heads of queries do not divide by ", e.heads);
  const bool fits = k[0] == e.batch && v[0] == e.batch && k[1] == e.time && v[1] == e.time &&
                    k[2] == e.heads * e.keys && v[2] == e.heads * e.values && q[2] == e.q_heads * e.keys;
  context.require(fits, "queries, keys and values do not fit ", e.q_heads, " and ", e.heads, " heads");
  const Shape state{e.batch, e.heads, e.keys, e.values};
  context.require(!context.has(kPast) || context.shape(kPast) == state, "the past state must have shape ", state);
  const std::string rule = context.attrs().text("update_rule");
  const bool decays = rule == "gated" || rule == "gated_delta", corrects = rule == "delta" || rule == "gated_delta";
  context.require(context.has(kDecay) == decays && context.has(kBeta) == corrects, "the rule ", rule,
                  decays ? " needs" : " has no", " decay, and ", corrects ? "needs" : "has no", " beta");
  if (decays) {
    const Shape& decay = context.shape(kDecay);
    const bool each = decay == Shape{e.batch, e.time, e.heads * e.keys};
    context.require(each || decay == Shape{e.batch, e.time, e.heads}, "decay has shape ", decay);
  }
  if (corrects) {
    const Shape& beta = context.shape(kBeta);
    context.require(beta == Shape{e.batch, e.time, e.heads} || beta == Shape{e.batch, e.time, 1}, "beta has shape ",
                    beta);
  }
  return {{context.dtype(kQuery), {e.batch, e.time, e.q_heads * e.values}},
          {context.has(kPast) ? context.dtype(kPast) : context.dtype(kQuery), state}};
}

/// One head: its state, and what a step does to it.
template <typename T>
class Head {
 public:
  Head(T* state, int64_t keys, int64_t values)
      : state_(state), keys_(keys), values_(values), seen_(static_cast<size_t>(values)) {}

  /// exp(decay) for each row, or for all where `step` is 0.
  void fade(const T* decay, int64_t step) {
    for (int64_t i = 0; i < keys_; ++i) {
      const T factor = std::exp(decay[i * step]);
      for (int64_t j = 0; j < values_; ++j) state_[i * values_ + j] *= factor;
    }
  }
  void add(const T* key, const T* value) {
    for (int64_t i = 0; i < keys_; ++i) {
      for (int64_t j = 0; j < values_; ++j) state_[i * values_ + j] += key[i] * value[j];
    }
  }
  /// Moves what the key stands for towards the value, by a part of the way.
  void correct(const T* key, const T* value, T part) {
    read(key, T{1}, seen_.data());
    for (int64_t j = 0; j < values_; ++j)
      seen_[static_cast<size_t>(j)] = part * (value[j] - seen_[static_cast<size_t>(j)]);
    add(key, seen_.data());
  }
  void read(const T* query, T scale, T* result) const {
    for (int64_t j = 0; j < values_; ++j) result[j] = 0;
    for (int64_t i = 0; i < keys_; ++i) {
      for (int64_t j = 0; j < values_; ++j) result[j] += scale * query[i] * state_[i * values_ + j];
    }
  }

 private:
  T* state_;
  int64_t keys_, values_;
  std::vector<T> seen_;
};

template <typename T>
void run(const ReferenceCall& call, const Extents& e, int64_t b, int64_t h, double scale) {
  const int64_t group = e.q_heads / e.heads;
  Head<T> head(call.out(1).data<T>() + (b * e.heads + h) * e.keys * e.values, e.keys, e.values);
  const bool each = call.has(kDecay) && call.in(kDecay).shape()[2] != e.heads;
  const bool shared = call.has(kBeta) && call.in(kBeta).shape()[2] == 1;
  for (int64_t t = 0; t < e.time; ++t) {
    const int64_t row = b * e.time + t;
    const T* key = call.in(kKey).data<T>() + (row * e.heads + h) * e.keys;
    const T* value = call.in(kValue).data<T>() + (row * e.heads + h) * e.values;
    if (call.has(kDecay)) {
      head.fade(call.in(kDecay).data<T>() + (row * e.heads + h) * (each ? e.keys : 1), each ? 1 : 0);
    }
    if (call.has(kBeta)) {
      head.correct(key, value, call.in(kBeta).data<T>()[shared ? row : row * e.heads + h]);
    } else {
      head.add(key, value);
    }
    for (int64_t g = h * group; g < (h + 1) * group; ++g) {
      const int64_t place = row * e.q_heads + g;
      head.read(call.in(kQuery).data<T>() + place * e.keys, static_cast<T>(scale),
                call.out(0).data<T>() + place * e.values);
    }
  }
}

void attend(const ReferenceCall& call) {
  const Extents e = extents(call.attrs(), call.in(kQuery).shape(), call.in(kKey).shape(), call.in(kValue).shape());
  double scale = call.attrs().real("scale");
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(e.keys));
  dispatch_real(call.out(0).dtype(), [&](auto tag) {
    using T = decltype(tag);
    T* state = call.out(1).data<T>();
    for (int64_t i = 0; i < call.out(1).num_elements(); ++i)
      state[i] = call.has(kPast) ? call.in(kPast).data<T>()[i] : 0;
    for (int64_t b = 0; b < e.batch; ++b) {
      for (int64_t h = 0; h < e.heads; ++h) run<T>(call, e, b, h, scale);
    }
  });
}

const RegisterOp kLinearAttention(OpId{"linear_attention"}, {3, 6},
                                  "Attention by a state that each step of time changes, and that state.", infer,
                                  nullptr,
                                  {attr::text("update_rule", "gated_delta", "how a step changes the state")
                                       .one_of({"linear", "gated", "delta", "gated_delta"}),
                                   attr::real("scale", 0.0, "of queries; 0: one by the root of their width"),
                                   attr::integer("q_num_heads", 1, "heads of queries").at_least(1).needed(),
                                   attr::integer("kv_num_heads", 1, "heads of keys and values").at_least(1).needed(),
                                   attr::integer("chunk_size", 64, "a hint that changes no result")},
                                  {.reference = attend, .data_inputs = 6, .onnx = {{"LinearAttention", 27}}});

}  // namespace
}  // namespace thalweg
