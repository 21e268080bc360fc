// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "formats/onnx/import_common.h"

namespace thalweg::onnx {

/// What an operator of the standard, in its newest form, makes of these inputs: for operators that are made of others.
/// All `num_outputs` are wanted.
std::vector<Value*> as_standard(const NodeContext& context, const std::string& op_type,
                                const std::vector<Value*>& inputs, Attributes attrs, size_t num_outputs = 1);

/// The function that an attribute of fused operators names ("" or none: the value itself), with its parameters.
Value* activated(const NodeContext& context, Value* x, const std::string& activation,
                 const std::vector<double>& parameters);

}  // namespace thalweg::onnx
