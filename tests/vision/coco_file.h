// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "support/source_dir.h"

namespace thalweg::testing {

/// A file of tests/golden/coco, which tests/golden/make_coco.py writes.
inline nlohmann::json golden_coco(const std::string& name) {
  std::ifstream file(TW_SOURCE_DIR "/tests/golden/coco/" + name + ".json");
  return nlohmann::json::parse(file);
}

}  // namespace thalweg::testing
