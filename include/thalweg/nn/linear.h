// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "thalweg/nn/scope.h"

namespace thalweg::nn {

struct LinearOptions {
  bool bias = true;
  /// Empty: PyTorch's kaiming_uniform(sqrt(5)), and for the bias uniform within 1/sqrt(fan in).
  init::Initializer weight_init = {};
  init::Initializer bias_init = {};
};

/// weight [out, in], bias [out]; over the last dimension.
class Linear {
 public:
  Linear(int64_t in_features, int64_t out_features, LinearOptions options = {})
      : in_(in_features), out_(out_features), options_(std::move(options)) {}
  Value* forward(const Scope& scope, Value* x) const;

 private:
  int64_t in_, out_;
  LinearOptions options_;
};

/// y_o = x1^T weight_o x2 + bias_o for x1 [N, in1], x2 [N, in2].
class Bilinear {
 public:
  Bilinear(int64_t in1_features, int64_t in2_features, int64_t out_features, bool bias = true)
      : in1_(in1_features), in2_(in2_features), out_(out_features), bias_(bias) {}
  Value* forward(const Scope& scope, Value* x1, Value* x2) const;

 private:
  int64_t in1_, in2_, out_;
  bool bias_;
};

struct EmbeddingOptions {
  std::optional<int64_t> padding_idx = std::nullopt;
  /// The table's gradient is the rows that were read, and optimisers touch only those. Otherwise it is dense, and
  /// optimisers with momentum move every row at every step, as PyTorch does by default.
  bool sparse = true;
  /// Empty: normal(0, 1), with zeros in the row of padding_idx.
  init::Initializer weight_init = {};
};

/// weight [num_embeddings, dim]; integers of any shape in.
class Embedding {
 public:
  Embedding(int64_t num_embeddings, int64_t embedding_dim, EmbeddingOptions options = {})
      : count_(num_embeddings), dim_(embedding_dim), options_(std::move(options)) {}
  Value* forward(const Scope& scope, Value* indices) const;
  /// The table alone.
  Value* table(const Scope& scope) const;

 private:
  int64_t count_, dim_;
  EmbeddingOptions options_;
};

/// t * act(transform(x)) + (1 - t) * x with t = sigmoid(gate(x)). Parameters: transform.*, gate.*.
class Highway {
 public:
  explicit Highway(int64_t features, std::string activation = "relu")
      : features_(features), activation_(std::move(activation)) {}
  Value* forward(const Scope& scope, Value* x) const;

 private:
  int64_t features_;
  std::string activation_;
};

/// The largest of `pieces` linear functions for every output: weight [out * pieces, in].
class Maxout {
 public:
  Maxout(int64_t in_features, int64_t out_features, int64_t pieces)
      : in_(in_features), out_(out_features), pieces_(pieces) {}
  Value* forward(const Scope& scope, Value* x) const;

 private:
  int64_t in_, out_, pieces_;
};

}  // namespace thalweg::nn
