// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "model/model_impl.h"
#include "thalweg/safetensors.h"

namespace thalweg {

/// All parameters and states in plain layout. Needs the shared lock.
std::vector<NamedTensor> read_weights(const Model::Impl& model);

/// What `file` holds of the model's weights, converted to the model's types. Throws Error listing every name that is
/// missing or unexpected (if `strict`) or of another shape; nothing has changed then. Needs the shared lock.
std::vector<NamedTensor> matching_weights(const Model::Impl& model, const SafetensorsFile& file, bool strict);

/// Needs the unique lock.
void write_weights(Model::Impl& model, const std::vector<NamedTensor>& weights);

}  // namespace thalweg
