// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/random.h"

#include <cmath>
#include <numbers>

namespace thalweg::data {

double Random::normal() {
  // Box and Muller; 1 - u keeps the logarithm's argument above 0.
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace thalweg::data
