// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/samples.h"

namespace thalweg::cli {

/// Of an image, or of a folder of images, at a path or an address.
Samples open_images(const SampleOptions& options, const Model& model);

/// Replaces `bytes` by the whole of an image's file, at a path or an address.
void read_bytes(const std::string& path, std::vector<uint8_t>& bytes);

}  // namespace thalweg::cli
