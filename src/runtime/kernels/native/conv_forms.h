// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/kernel.h"

namespace thalweg {

/// One way to compute a convolution, or its data gradient, that is worth measuring.
struct ConvForm {
  /// Tells it from the others of the node; stored by the tuner.
  std::string name;
  std::function<std::unique_ptr<Kernel>()> make;
};

/// Winograd's method in several tile and block sizes; none if it cannot or must not be used.
std::vector<ConvForm> winograd_forms(const KernelRequest& request);
/// The product of matrices, cut in several ways.
std::vector<ConvForm> conv_product_forms(const KernelRequest& request);
/// Taps that read from copied rows of a plain image of few channels.
std::vector<ConvForm> conv_rows_forms(const KernelRequest& request);

/// Vectors that go along lines of a plain image, for few output channels.
std::vector<ConvForm> conv_lines_forms(const KernelRequest& request);

/// Measures oneDNN's kernel and all forms of the request's node, unless that was done before on this CPU, and gives the
/// kernel of the fastest if it is one of `offered`; else null, with the reason. Several candidates may ask in turn: the
/// answer is the same.
std::unique_ptr<Kernel> fastest_conv(const KernelRequest& request, const std::vector<ConvForm>& offered,
                                     std::string& declined);

}  // namespace thalweg
