// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "thalweg/nn/init.h"

/// What PyTorch's linear and convolution layers start from.
namespace thalweg::nn {

inline init::Initializer weight_init_or_default(const init::Initializer& chosen) {
  return chosen ? chosen : init::kaiming_uniform(std::sqrt(5.0));
}

inline init::Initializer bias_init_or_default(const init::Initializer& chosen, const Shape& weight) {
  if (chosen) return chosen;
  const double bound = 1.0 / std::sqrt(static_cast<double>(init::fan_in(weight)));
  return init::uniform(-bound, bound);
}

}  // namespace thalweg::nn
