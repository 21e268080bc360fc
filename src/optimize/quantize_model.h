// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>

#include "optimize/calibrate.h"

namespace thalweg {

/// Values whose ranges quantising all layers needs.
std::vector<std::string> values_to_calibrate(const EditedGraph& model);

/// Puts QuantizeLinear and DequantizeLinear around all layers but those whose outputs are in `kept`, and turns their
/// weights into i8 with a scale for each output channel; gives the number of layers. Values are u8 with one scale.
/// The opset must be at least onnx::kUpgradedOpset.
int quantize_model(EditedGraph& model, const std::map<std::string, Range>& ranges, const std::set<std::string>& kept);

}  // namespace thalweg
