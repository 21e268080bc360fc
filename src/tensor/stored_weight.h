// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "thalweg/tensor.h"

namespace thalweg {

/// A weight that is never changed where it is stored, and can be fetched whenever it is needed, as from a mapped file.
struct StoredWeight {
  std::string name;
  TensorType type;
  /// Gives the content, always the same. Must be thread-safe.
  std::function<Tensor()> load;
};

}  // namespace thalweg
