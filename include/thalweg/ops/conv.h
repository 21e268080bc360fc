// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/graph.h"

namespace thalweg::ops {

/// Empty vectors take the default for every spatial dimension: stride 1, dilation 1, padding 0.
struct ConvOptions {
  std::vector<int64_t> strides;
  /// All begins, then all ends (2 x spatial dimensions), or one value per dimension for both sides.
  std::vector<int64_t> pads;
  std::vector<int64_t> dilations;
  int64_t groups = 1;
  /// Fused into the convolution: "" or "relu".
  std::string activation;
};

/// x [N, C, spatial...] (1 to 3 spatial dimensions), weight [O, C/groups, kernel...], bias [O] or null.
Value* conv(Value* x, Value* weight, Value* bias = nullptr, const ConvOptions& options = {},
            const std::string& name = "");

struct ConvTransposeOptions {
  std::vector<int64_t> strides;
  std::vector<int64_t> pads;
  std::vector<int64_t> output_padding;
  std::vector<int64_t> dilations;
  int64_t groups = 1;
};
/// x [N, C, spatial...], weight [C, O/groups, kernel...], bias [O] or null.
Value* conv_transpose(Value* x, Value* weight, Value* bias = nullptr, const ConvTransposeOptions& options = {},
                      const std::string& name = "");

struct PoolOptions {
  std::vector<int64_t> kernel;
  std::vector<int64_t> strides;  ///< empty: 1, as in ONNX; nn layers pass the kernel
  std::vector<int64_t> pads;
  std::vector<int64_t> dilations;  ///< max pooling only
  bool ceil_mode = false;
  bool count_include_pad = true;  ///< average pooling only
};
Value* max_pool(Value* x, const PoolOptions& options, const std::string& name = "");
Value* avg_pool(Value* x, const PoolOptions& options, const std::string& name = "");
/// Output of the given spatial size, with PyTorch's window bounds.
Value* adaptive_avg_pool(Value* x, const std::vector<int64_t>& output_size, const std::string& name = "");
Value* adaptive_max_pool(Value* x, const std::vector<int64_t>& output_size, const std::string& name = "");
Value* global_avg_pool(Value* x, const std::string& name = "");
Value* global_max_pool(Value* x, const std::string& name = "");

/// Across channels: y = x / (bias + alpha/size * sum of squares over `size` channels)^beta.
Value* lrn(Value* x, int64_t size, double alpha = 1e-4, double beta = 0.75, double bias = 1.0,
           const std::string& name = "");

/// `mode`: nearest, linear (bi-, trilinear), cubic (2-D). `coordinates`: half_pixel, align_corners, asymmetric.
Value* interpolate(Value* x, const std::vector<int64_t>& output_size, const std::string& mode = "nearest",
                   const std::string& coordinates = "asymmetric", const std::string& name = "");

struct GridSampleOptions {
  std::string mode = "linear";         ///< linear, nearest
  std::string padding_mode = "zeros";  ///< zeros, border, reflection: what lies outside of the picture
  bool align_corners = false;          ///< -1 and 1 are the middles of the outermost elements, not their edges
};
/// `x` [N, C, H, W] read at the places of `grid` [N, H', W', 2], (across, down) from -1 to 1: [N, C, H', W']. The grid
/// is f32, or f64 if x is.
Value* grid_sample(Value* x, Value* grid, const GridSampleOptions& options = {}, const std::string& name = "");

}  // namespace thalweg::ops
