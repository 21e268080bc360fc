// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "thalweg/nn/scope.h"

namespace thalweg::nn {

struct Flatten {
  /// Dimensions from here on, up to and with the other, become one. Negative ones count from the end.
  int64_t start_dim = 1;
  int64_t end_dim = -1;
  Value* forward(const Scope& scope, Value* x) const;
};

/// 0 copies the input's dimension, -1 takes what is left.
struct Reshape {
  std::vector<int64_t> shape;
  Value* forward(const Scope& scope, Value* x) const;
};

struct Permute {
  std::vector<int64_t> dims;
  Value* forward(const Scope& scope, Value* x) const;
};

struct UpsampleOptions {
  /// Either the output's spatial size or a whole factor.
  std::optional<Size> size = std::nullopt;
  std::optional<Size> scale_factor = std::nullopt;
  /// nearest, linear, bilinear, trilinear or bicubic.
  std::string mode = "nearest";
  bool align_corners = false;
};
class Upsample {
 public:
  explicit Upsample(UpsampleOptions options) : options_(std::move(options)) {}
  Value* forward(const Scope& scope, Value* x) const;

 private:
  UpsampleOptions options_;
};

/// `padding` as in PyTorch: (left, right, top, bottom, ...), last dimension first; negative numbers crop.
/// `mode`: constant, reflect or replicate.
class Pad {
 public:
  explicit Pad(std::vector<int64_t> padding, std::string mode = "constant", double value = 0.0)
      : padding_(std::move(padding)), mode_(std::move(mode)), value_(value) {}
  Value* forward(const Scope& scope, Value* x) const;

 private:
  std::vector<int64_t> padding_;
  std::string mode_;
  double value_;
};

}  // namespace thalweg::nn
