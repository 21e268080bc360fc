// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "formats/onnx/proto.h"
#include "formats/wire.h"

namespace thalweg::onnx {

using formats::WireWriter;

/// The message for a model. Raw contents of tensors are referred to, not copied. The bytes depend on the model alone.
WireWriter serialize(const ModelProto& model);

}  // namespace thalweg::onnx
