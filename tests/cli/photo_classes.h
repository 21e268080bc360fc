// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "support/golden_image.h"

namespace thalweg::testing {

/// Writes a small photo into each of these folders, which stand for classes.
inline void write_classes(const std::filesystem::path& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    std::filesystem::create_directories(folder / name);
    std::filesystem::copy_file(image_path("photo.jpg"), folder / name / "photo.jpg");
  }
}

}  // namespace thalweg::testing
