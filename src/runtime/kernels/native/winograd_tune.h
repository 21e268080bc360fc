// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/native/winograd_plan.h"

namespace thalweg {

/// Makes the kernel of a choice.
using MakeWinograd = std::function<std::unique_ptr<Kernel>(const WinogradChoice& choice)>;

/// Measures the direct convolution and Winograd's in several tile and block sizes, unless that was done before on this
/// CPU, and gives the kernel of the fastest; null, with the reason, if that is the direct one.
std::unique_ptr<Kernel> tune_winograd(const KernelRequest& request, WinogradPass pass, const MakeWinograd& make,
                                      std::string& declined);

}  // namespace thalweg
