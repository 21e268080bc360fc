// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/source_dir.h"

namespace thalweg::optim {

/// A file beside make_golden.py, which wrote it.
inline nlohmann::json read_golden(const std::string& name) {
  std::ifstream file(std::string(TW_SOURCE_DIR "/tests/optim/") + name);
  return nlohmann::json::parse(file);
}

inline std::vector<float> floats(const nlohmann::json& values) {
  std::vector<float> result;
  for (double value : values) result.push_back(static_cast<float>(value));
  return result;
}

/// The values `times` times over.
inline std::vector<float> repeated(const std::vector<float>& values, size_t times) {
  std::vector<float> result;
  for (size_t i = 0; i < times; ++i) result.insert(result.end(), values.begin(), values.end());
  return result;
}

}  // namespace thalweg::optim
