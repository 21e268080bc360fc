// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "formats/onnx/proto.h"
#include "thalweg/tensor.h"

namespace thalweg::onnx {

/// Writes the model to `path`, replacing what is there in one go. The contents of large initialisers must be raw. If
/// they are too many for one protocol buffer (about 2 GB), they go to `path` + ".data" beside it.
void write_model(ModelProto model, const std::string& path);
/// The same in memory, as u8; throws if it is too large for one protocol buffer.
Tensor model_bytes(const ModelProto& model);

}  // namespace thalweg::onnx
