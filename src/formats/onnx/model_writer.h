// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "formats/onnx/proto.h"

namespace thalweg::onnx {

struct ModelFile;

/// Writes the model to `path`, replacing what is there in one go. The contents of large initialisers must be raw. If
/// they are too many for one protocol buffer (about 2 GB), they go to `path` + ".data" beside it.
void write_model(ModelProto model, const std::string& path);
/// The same of a model that was read, wherever the contents of its initialisers lie.
void write_model(const ModelFile& model, const std::string& path);

}  // namespace thalweg::onnx
