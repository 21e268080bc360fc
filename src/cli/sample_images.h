// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/samples.h"

namespace thalweg::cli {

/// True for a file with an image's ending, and for a local folder that holds anything else than tables.
bool is_image_source(const std::string& path);

Samples open_images(const SampleOptions& options, const InferenceModel& model);

}  // namespace thalweg::cli
