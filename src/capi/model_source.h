// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "job/settings.h"
#include "thalweg/graph.h"

namespace thalweg::capi {

/// The model that tw_training_model and tw_training_options name, in training form. Takes the options of one of the
/// zoo, which is drawn by its seed, from the section "model" of the settings.
std::unique_ptr<Graph> model_from(const std::string& source, job::Settings& settings);

}  // namespace thalweg::capi
