// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "thalweg/nn/scope.h"

namespace thalweg::nn {

struct MaxPoolOptions {
  /// None: the kernel's size.
  std::optional<Size> stride = std::nullopt;
  Size padding = 0;
  Size dilation = 1;
  bool ceil_mode = false;
};

template <int Rank>
class MaxPool {
 public:
  explicit MaxPool(Size kernel_size, MaxPoolOptions options = {})
      : kernel_(std::move(kernel_size)), options_(std::move(options)) {}
  Value* forward(const Scope& scope, Value* x) const;

 private:
  Size kernel_;
  MaxPoolOptions options_;
};
using MaxPool1d = MaxPool<1>;
using MaxPool2d = MaxPool<2>;
using MaxPool3d = MaxPool<3>;

struct AvgPoolOptions {
  std::optional<Size> stride = std::nullopt;
  Size padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
};

template <int Rank>
class AvgPool {
 public:
  explicit AvgPool(Size kernel_size, AvgPoolOptions options = {})
      : kernel_(std::move(kernel_size)), options_(std::move(options)) {}
  Value* forward(const Scope& scope, Value* x) const;

 private:
  Size kernel_;
  AvgPoolOptions options_;
};
using AvgPool1d = AvgPool<1>;
using AvgPool2d = AvgPool<2>;
using AvgPool3d = AvgPool<3>;

template <int Rank, bool kMax>
class AdaptivePool {
 public:
  explicit AdaptivePool(Size output_size) : output_(std::move(output_size)) {}
  Value* forward(const Scope& scope, Value* x) const;

 private:
  Size output_;
};
using AdaptiveAvgPool1d = AdaptivePool<1, false>;
using AdaptiveAvgPool2d = AdaptivePool<2, false>;
using AdaptiveAvgPool3d = AdaptivePool<3, false>;
using AdaptiveMaxPool1d = AdaptivePool<1, true>;
using AdaptiveMaxPool2d = AdaptivePool<2, true>;
using AdaptiveMaxPool3d = AdaptivePool<3, true>;

}  // namespace thalweg::nn
