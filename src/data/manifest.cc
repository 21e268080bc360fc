// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/manifest.h"

#include <fstream>

#include "data/class_names.h"
#include "thalweg/error.h"

namespace thalweg::data {
LabelledFiles read_manifest(const std::string& path) {
  std::ifstream file(path);
  TW_REQUIRE(file.good(), path, ": cannot read the manifest");
  LabelledFiles result;
  std::vector<std::string> names;
  int64_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || line.front() == '#') continue;
    const size_t tab = line.rfind('\t');
    const size_t cut = tab != std::string::npos ? tab : line.rfind(',');
    TW_REQUIRE(cut != std::string::npos && cut > 0 && cut + 1 < line.size(), path, ": line ", number,
               ": expected a path, a tab or comma, and a class, got '", line.substr(0, 200), "'");
    result.paths.add(std::string_view(line).substr(0, cut));
    names.push_back(line.substr(cut + 1));
  }
  TW_REQUIRE(file.eof(), path, ": reading failed after line ", number);
  Labels labels = number_classes(names);
  result.labels = std::move(labels.labels);
  result.classes = std::move(labels.classes);
  return result;
}

}  // namespace thalweg::data
