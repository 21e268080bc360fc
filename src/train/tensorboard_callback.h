// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/train.h"

namespace thalweg {

/// Writes loss, learning rate and throughput of the training, and every score of a validation, as TensorBoard events.
std::shared_ptr<Callback> make_tensorboard_callback(const std::string& directory);

}  // namespace thalweg
