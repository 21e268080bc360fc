// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "formats/onnx/proto.h"

namespace thalweg::onnx {

/// Parses a serialised ModelProto. The contents of tensors are views into `bytes`, which must outlive the result.
/// Throws an Error that begins with `where` if the bytes are not a model; the memory needed is bounded by a small
/// multiple of their number.
ModelProto parse_model(std::string_view bytes, const std::string& where);

/// The same for a TensorProto alone.
TensorProto parse_tensor(std::string_view bytes, const std::string& where);

}  // namespace thalweg::onnx
