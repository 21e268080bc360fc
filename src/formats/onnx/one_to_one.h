// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "formats/onnx/converter.h"
#include "formats/onnx/exporter.h"
#include "graph/op_registry.h"

/// ONNX operators that an op of the engine lists as its own (OpDef::onnx), input for input and attribute for attribute:
/// these need no code to be read (graph/one_to_one.h) and written. Where more is to be said, RegisterConverters and
/// RegisterWriters come first.
namespace thalweg::onnx {

/// Empty if the op lists no operator that the opset written has.
NodeWriter one_to_one_writer(const OpDef& op);

}  // namespace thalweg::onnx
