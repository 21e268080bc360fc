// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/nn/attention.h"

#include <cmath>
#include <limits>

#include "thalweg/nn/activation.h"
#include "thalweg/nn/dropout.h"
#include "thalweg/nn/linear.h"
#include "thalweg/ops/elementwise.h"
#include "thalweg/ops/matmul.h"
#include "thalweg/ops/shape.h"

namespace thalweg::nn {
namespace {

struct Heads {
  Value* q;
  Value* k;
  Value* v;
};

struct Projection {
  Value* weight;  // [3E, E]
  Value* bias;    // [3E] or null
  int64_t dim, heads;
};

/// One product for all three: [N, T, 3E].
Value* project_packed(const Scope& scope, const Projection& p, Value* x) {
  return ops::linear(x, p.weight, p.bias, "", scope.name("in_proj"));
}

/// One transposition to [3, N, heads, T, D].
Heads project_self(const Scope& scope, const Projection& p, Value* x) {
  Value* all = project_packed(scope, p, x);
  all = ops::reshape(all, {0, 0, 3, p.heads, p.dim / p.heads});
  const std::vector<Value*> parts = ops::split(ops::transpose(all, {2, 0, 3, 1, 4}), {1, 1, 1}, 0);
  return {ops::squeeze(parts[0], {0}), ops::squeeze(parts[1], {0}), ops::squeeze(parts[2], {0})};
}

/// Each [N, T, heads, D].
Heads project_each(const Scope& scope, const Projection& p, Value* q, Value* k, Value* v) {
  const std::vector<Value*> weights = ops::split(p.weight, {p.dim, p.dim, p.dim}, 0);
  std::vector<Value*> biases(3, nullptr);
  if (p.bias != nullptr) biases = ops::split(p.bias, {p.dim, p.dim, p.dim}, 0);
  const auto project = [&](Value* x, size_t i) {
    x = ops::linear(x, weights[i], biases[i], "", scope.name("in_proj"));
    return ops::reshape(x, {0, 0, p.heads, p.dim / p.heads});
  };
  return {project(q, 0), project(k, 1), project(v, 2)};
}

Heads by_head(const Heads& heads) {
  const auto swap = [](Value* x) { return ops::transpose(x, {0, 2, 1, 3}); };
  return {swap(heads.q), swap(heads.k), swap(heads.v)};
}

/// 0 where position t may look (keys up to t + S - T), minus infinity elsewhere.
Value* causal_mask(const Scope& scope, const Heads& heads) {
  const int64_t t = heads.q->shape()[2];
  const int64_t s = heads.k->shape()[2];
  scope.require(t != kFree && s != kFree, "MultiheadAttention",
                "causal attention with dropout needs known sequence lengths");
  Tensor mask = Tensor::zeros(DType::kF32, {t, s});
  for (int64_t i = 0; i < t; ++i) {
    for (int64_t j = std::max<int64_t>(0, i + s - t + 1); j < s; ++j) {
      mask.data<float>()[i * s + j] = -std::numeric_limits<float>::infinity();
    }
  }
  return scope.graph().constant(mask.to(heads.q->dtype()));
}

/// What is added to the scores: as it is, or minus infinity where a bool mask holds. Null stays null.
Value* additive(Value* mask, DType dtype) {
  if (mask == nullptr || mask->dtype() != DType::kBool) return mask;
  const auto constant = [&](float number) { return mask->graph().constant(Tensor::scalar<float>(number).to(dtype)); };
  return ops::where(mask, constant(-std::numeric_limits<float>::infinity()), constant(0));
}

/// `mask` and that of keys, [N, S], in one; null if there is neither.
Value* with_key_padding(const Scope& scope, Value* mask, Value* key_padding, DType dtype) {
  mask = additive(mask, dtype);
  if (key_padding == nullptr) return mask;
  scope.require(key_padding->shape().rank() == 2, "MultiheadAttention", "a key padding mask is [N, S], got ",
                key_padding->shape());
  Value* keys = ops::unsqueeze(additive(key_padding, dtype), {1, 2});
  return mask == nullptr ? keys : ops::add(keys, mask);
}

/// Dropout acts on the weights of the keys, between softmax and the product with the values.
Value* composed_attention(const Scope& scope, const Heads& heads, Value* mask, bool causal, double p) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(heads.q->shape()[3]));
  Value* scores = ops::mul(ops::matmul(heads.q, heads.k, false, true, scope.path()), scale);
  if (mask != nullptr) scores = ops::add(scores, mask);
  if (causal) scores = ops::add(scores, causal_mask(scope, heads));
  Value* weights = Dropout(p).forward(scope, ops::softmax(scores, -1, scope.path()));
  return ops::matmul(weights, heads.v, false, false, scope.path());
}

}  // namespace

Value* MultiheadAttention::run(const Scope& scope, Value* query, Value* key, Value* value, Value* mask, bool causal,
                               Value* key_padding) const {
  scope.require(heads_ >= 1 && dim_ % heads_ == 0, "MultiheadAttention", dim_, " features cannot be cut into ", heads_,
                " heads");
  for (const Value* x : {query, key, value}) {
    scope.require(x->shape().rank() == 3 && x->shape()[2] == dim_, "MultiheadAttention", "takes sequences of ", dim_,
                  " features, got ", x->shape());
  }
  mask = with_key_padding(scope, mask, key_padding, query->dtype());
  Projection p{scope.parameter("in_proj_weight", {3 * dim_, dim_}, init::xavier_uniform()), nullptr, dim_, heads_};
  if (options_.bias) p.bias = scope.parameter("in_proj_bias", {3 * dim_}, init::zeros());
  const bool self = query == key && key == value;
  const auto batch_major = [&](Value* x) { return options_.batch_first ? x : ops::transpose(x, {1, 0, 2}); };
  query = batch_major(query);
  Value* y = nullptr;
  if (options_.dropout > 0) {
    // Dropout lies between softmax and the product with the values, where the fused op has no place for it.
    const Heads heads = self ? project_self(scope, p, query)
                             : by_head(project_each(scope, p, query, batch_major(key), batch_major(value)));
    y = ops::transpose(composed_attention(scope, heads, mask, causal, options_.dropout), {0, 2, 1, 3});
  } else if (self) {
    y = ops::self_attention(project_packed(scope, p, query), heads_, mask, 0.0, causal, scope.path());
  } else {
    const Heads heads = project_each(scope, p, query, batch_major(key), batch_major(value));
    y = ops::attention_by_time(heads.q, heads.k, heads.v, mask, 0.0, causal, scope.path());
  }
  y = ops::reshape(y, {0, 0, dim_});
  y = Linear(dim_, dim_, {.bias = options_.bias, .bias_init = init::zeros()}).forward(scope.sub("out_proj"), y);
  return batch_major(y);
}

Value* TransformerEncoderLayer::attend(const Scope& scope, Value* x, Value* mask, Value* key_padding) const {
  const AttentionOptions attention{.dropout = options_.dropout, .batch_first = options_.batch_first};
  x = MultiheadAttention(dim_, heads_, attention)
          .run(scope.sub("self_attn"), x, x, x, mask, options_.causal, key_padding);
  return Dropout(options_.dropout).forward(scope.sub("dropout1"), x);
}

Value* TransformerEncoderLayer::feed_forward(const Scope& scope, Value* x) const {
  x = Linear(dim_, options_.dim_feedforward).forward(scope.sub("linear1"), x);
  x = activate(scope.sub("activation"), options_.activation, x);
  x = Dropout(options_.dropout).forward(scope.sub("dropout"), x);
  x = Linear(options_.dim_feedforward, dim_).forward(scope.sub("linear2"), x);
  return Dropout(options_.dropout).forward(scope.sub("dropout2"), x);
}

Value* TransformerEncoderLayer::run(const Scope& scope, Value* x, Value* mask, Value* key_padding) const {
  const LayerNorm norm(dim_, {.eps = options_.layer_norm_eps});
  const Scope first = scope.sub("norm1");
  const Scope second = scope.sub("norm2");
  if (options_.norm_first) {
    x = ops::add(x, attend(scope, norm.forward(first, x), mask, key_padding));
    return ops::add(x, feed_forward(scope, norm.forward(second, x)));
  }
  x = norm.forward(first, ops::add(x, attend(scope, x, mask, key_padding)));
  return norm.forward(second, ops::add(x, feed_forward(scope, x)));
}

Value* TransformerEncoder::run(const Scope& scope, Value* x, Value* mask) const {
  for (int64_t i = 0; i < count_; ++i) x = layer_.run(scope.sub("layers").sub(static_cast<size_t>(i)), x, mask);
  return final_norm_ ? LayerNorm(layer_.dim(), {.eps = layer_.epsilon()}).forward(scope.sub("norm"), x) : x;
}

}  // namespace thalweg::nn
