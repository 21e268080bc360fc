// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/variables.h"
#include "thalweg/optim.h"
#include "thalweg/safetensors.h"

namespace thalweg {

/// The slots of all parameters, named "<slot>/<parameter>", in plain layout: a checkpoint must not depend on the CPU
/// that wrote it. How often each parameter was updated is "updates/<parameter>".
std::vector<NamedTensor> read_optimizer(optim::Optimizer& optimizer, const Variables& variables);

/// What `read_optimizer` gave. Throws Error naming the source and every slot that is missing, unexpected or of another
/// shape, before any has changed.
void write_optimizer(optim::Optimizer& optimizer, const Variables& variables, const std::vector<NamedTensor>& state,
                     const std::string& source);
void write_optimizer(optim::Optimizer& optimizer, const Variables& variables, const SafetensorsFile& file);

}  // namespace thalweg
