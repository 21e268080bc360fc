// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

namespace thalweg::nn::init {

/// The distribution function of the standard normal distribution.
double normal_cdf(double x);
/// Its inverse, within 2e-9 relative; infinite at 0 and 1.
double inverse_normal_cdf(double p);

}  // namespace thalweg::nn::init
