// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "thalweg/tensor.h"

namespace thalweg {

/// UTF-8 with the letters of Latin, Greek and Cyrillic in one case, the same in every locale. Other bytes stay.
std::string lower_case(const std::string& text);
std::string upper_case(const std::string& text);

namespace text {

/// Numbers written as texts, or texts read as numbers of `dtype`; throws if one is none.
Tensor converted(const Tensor& x, DType dtype);

}  // namespace text
}  // namespace thalweg
