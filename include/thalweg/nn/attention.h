// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/nn/norm.h"

namespace thalweg::nn {

struct AttentionOptions {
  double dropout = 0.0;
  bool bias = true;
  /// Sequences are [N, T, E] instead of [T, N, E].
  bool batch_first = false;
};

/// Parameters in_proj_weight [3E, E], in_proj_bias, out_proj.weight, out_proj.bias.
class MultiheadAttention {
 public:
  MultiheadAttention(int64_t embed_dim, int64_t num_heads, AttentionOptions options = {})
      : dim_(embed_dim), heads_(num_heads), options_(options) {}
  /// Self-attention.
  Value* forward(const Scope& scope, Value* x) const { return run(scope, x, x, x); }
  /// `mask` (or null) is added to the scores and broadcasts to [N, heads, T, S]; `key_padding` [N, S] is about keys.
  /// Where one that is bool holds, nothing is looked at.
  Value* run(const Scope& scope, Value* query, Value* key, Value* value, Value* mask = nullptr, bool causal = false,
             Value* key_padding = nullptr) const;

 private:
  int64_t dim_, heads_;
  AttentionOptions options_;
};

struct TransformerLayerOptions {
  int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  std::string activation = "relu";
  double layer_norm_eps = 1e-5;
  bool batch_first = false;
  bool norm_first = false;
  bool causal = false;
};

/// Parameters self_attn.*, linear1.*, linear2.*, norm1.*, norm2.*.
class TransformerEncoderLayer {
 public:
  TransformerEncoderLayer(int64_t d_model, int64_t nhead, TransformerLayerOptions options = {})
      : dim_(d_model), heads_(nhead), options_(std::move(options)) {}
  Value* forward(const Scope& scope, Value* x) const { return run(scope, x); }
  Value* run(const Scope& scope, Value* x, Value* mask = nullptr, Value* key_padding = nullptr) const;
  int64_t dim() const { return dim_; }
  double epsilon() const { return options_.layer_norm_eps; }

 private:
  Value* attend(const Scope& scope, Value* x, Value* mask, Value* key_padding) const;
  Value* feed_forward(const Scope& scope, Value* x) const;
  int64_t dim_, heads_;
  TransformerLayerOptions options_;
};

/// Layers layers.0, layers.1, ... and, if `final_norm`, a LayerNorm called norm.
class TransformerEncoder {
 public:
  TransformerEncoder(TransformerEncoderLayer layer, int64_t num_layers, bool final_norm = false)
      : layer_(std::move(layer)), count_(num_layers), final_norm_(final_norm) {}
  Value* forward(const Scope& scope, Value* x) const { return run(scope, x); }
  Value* run(const Scope& scope, Value* x, Value* mask = nullptr) const;

 private:
  TransformerEncoderLayer layer_;
  int64_t count_;
  bool final_norm_;
};

}  // namespace thalweg::nn
