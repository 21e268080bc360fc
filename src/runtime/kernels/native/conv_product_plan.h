// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/kernel.h"
#include "runtime/kernels/simd/conv_product.h"

namespace thalweg {

/// A convolution as a product of matrices: pixels by panels of output channels.
struct ConvProductShape {
  int lanes = 16;
  int panel_vectors = 4;
  int64_t batch = 0;
  int64_t pixels = 0;  ///< of an output image
  int64_t out_blocks = 0;
  simd::ConvPatches patches{};
  /// The input is the left side as it lies: a kernel of one pixel, stride 1, no padding.
  bool in_place = false;
  int64_t left_blocks = 0;  ///< columns of the left side, in vectors

  int64_t panels() const { return (out_blocks + panel_vectors - 1) / panel_vectors; }
  int64_t panel_floats() const { return int64_t{panel_vectors} * lanes; }
  /// Vectors of a panel that hold channels: fewer in the last one.
  int vectors_of(int64_t panel) const;
};
ConvProductShape conv_product_shape(const Node& node);

/// How the work is cut: `panel_teams` teams of threads share the panels; the threads of a team share the pixels, in
/// blocks of `pixels` (of one image each).
struct ConvProductBlocking {
  int panel_teams = 1;
  int64_t pixels = 1;
};
/// `large`: blocks of pixels that nearly fill a second-level cache.
ConvProductBlocking conv_product_blocking(const ConvProductShape& shape, int threads, int panel_teams,
                                          bool large = false);
/// The number of teams that moves least through the caches while all threads have about the same to do.
int conv_product_teams(const ConvProductShape& shape, int threads);

/// Why convolutions of fixed weights by panels, here or in rows, cannot compute the node; empty if they can.
std::string conv_product_obstacle(const KernelRequest& request);
/// False, with the reason, if the kernel cannot compute the node, or is likely to be slower than the direct method.
bool conv_product_possible(const KernelRequest& request, std::string& declined);

}  // namespace thalweg
