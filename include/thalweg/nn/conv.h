// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/nn/scope.h"

namespace thalweg::nn {

struct ConvOptions {
  Size stride = 1;
  Size padding = 0;
  Size dilation = 1;
  int64_t groups = 1;
  bool bias = true;
  /// zeros, reflect or replicate.
  std::string padding_mode = "zeros";
  /// Empty: as Linear.
  init::Initializer weight_init = {};
  init::Initializer bias_init = {};
  /// Instead of `padding`, as much as it takes for the output to have the input's extents; with stride 1 only. What is
  /// odd goes to the end.
  bool same_padding = false;
};

/// weight [out, in/groups, kernel...], bias [out].
template <int Rank>
class Conv {
 public:
  Conv(int64_t in_channels, int64_t out_channels, Size kernel_size, ConvOptions options = {})
      : in_(in_channels), out_(out_channels), kernel_(std::move(kernel_size)), options_(std::move(options)) {}
  Value* forward(const Scope& scope, Value* x) const;

 private:
  int64_t in_, out_;
  Size kernel_;
  ConvOptions options_;
};
using Conv1d = Conv<1>;
using Conv2d = Conv<2>;
using Conv3d = Conv<3>;

struct ConvTransposeOptions {
  Size stride = 1;
  Size padding = 0;
  Size output_padding = 0;
  Size dilation = 1;
  int64_t groups = 1;
  bool bias = true;
  init::Initializer weight_init = {};
  init::Initializer bias_init = {};
};

/// weight [in, out/groups, kernel...], bias [out].
template <int Rank>
class ConvTranspose {
 public:
  ConvTranspose(int64_t in_channels, int64_t out_channels, Size kernel_size, ConvTransposeOptions options = {})
      : in_(in_channels), out_(out_channels), kernel_(std::move(kernel_size)), options_(std::move(options)) {}
  Value* forward(const Scope& scope, Value* x) const;

 private:
  int64_t in_, out_;
  Size kernel_;
  ConvTransposeOptions options_;
};
using ConvTranspose1d = ConvTranspose<1>;
using ConvTranspose2d = ConvTranspose<2>;
using ConvTranspose3d = ConvTranspose<3>;

/// A convolution of each channel by itself (`depthwise`, in * multiplier channels), then 1x1 across channels
/// (`pointwise`). `options` are those of the depthwise part; only the pointwise part has a bias.
class SeparableConv2d {
 public:
  SeparableConv2d(int64_t in_channels, int64_t out_channels, Size kernel_size, ConvOptions options = {},
                  int64_t multiplier = 1)
      : in_(in_channels),
        out_(out_channels),
        kernel_(std::move(kernel_size)),
        options_(std::move(options)),
        multiplier_(multiplier) {}
  Value* forward(const Scope& scope, Value* x) const;

 private:
  int64_t in_, out_;
  Size kernel_;
  ConvOptions options_;
  int64_t multiplier_;
};

}  // namespace thalweg::nn
