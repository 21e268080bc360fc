// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "thalweg/train.h"

namespace thalweg {

/// What targets of this type become for the loss: themselves if it takes them, else as fit_target has it, where numbers
/// that may have fractions are taken for whole ones last. Nothing if the loss takes none of that.
std::optional<TensorType> fitting_target_type(const TensorType& given, const Graph& graph, const Loss& loss);

}  // namespace thalweg
