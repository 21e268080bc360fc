// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "thalweg/tensor.h"

namespace thalweg::cli {

/// Appends an element in as few digits as bring it back; `not_finite`, if not null, stands for infinities and NaN.
void append_element(std::string& text, const Tensor& tensor, int64_t index, const char* not_finite = nullptr);

/// A tensor as nested JSON lists. JSON has no infinities: they are null.
void append_json(std::string& text, const Tensor& tensor);

}  // namespace thalweg::cli
