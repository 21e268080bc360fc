// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "formats/onnx/import_common.h"

namespace thalweg::onnx {

/// What the draws of a node follow from: its attribute, or its name.
int64_t seed_of(const NodeContext& context);

}  // namespace thalweg::onnx
