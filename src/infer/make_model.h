// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "formats/onnx/model_file.h"
#include "thalweg/inference.h"

namespace thalweg {

/// As InferenceModel::load, of a model that was read or made already.
InferenceModel make_inference_model(std::shared_ptr<const onnx::ModelFile> model, const InferenceOptions& options);

}  // namespace thalweg
