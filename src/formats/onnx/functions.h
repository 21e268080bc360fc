// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "formats/onnx/proto.h"

namespace thalweg::onnx {

/// Puts the bodies of the model's own functions in place of the nodes that call them, in the graph and in the graphs
/// inside it, until there are no calls left. Throws an Error that begins with `where` if a function calls itself, or if
/// the result would be unreasonably large.
void inline_functions(ModelProto& model, const std::string& where);

}  // namespace thalweg::onnx
