// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/manifest.h"

#include "data/class_names.h"
#include "data/lines.h"
#include "thalweg/error.h"

namespace thalweg::data {
LabelledFiles read_manifest(const std::string& path) {
  constexpr size_t kLongestEntry = 64U << 10U;
  Lines lines(path, kLongestEntry);
  LabelledFiles result;
  std::vector<std::string> names;
  for (std::string_view line; lines.next(line);) {
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    const size_t tab = line.rfind('\t');
    const size_t cut = tab != std::string::npos ? tab : line.rfind(',');
    TW_REQUIRE(cut != std::string::npos && cut > 0 && cut + 1 < line.size(), path, ": line ", lines.number(),
               ": expected a path, a tab or comma, and a class, got '", line.substr(0, 200), "'");
    result.paths.add(line.substr(0, cut));
    names.emplace_back(line.substr(cut + 1));
  }
  Labels labels = number_classes(path, names);
  result.labels = std::move(labels.labels);
  result.classes = std::move(labels.classes);
  return result;
}

}  // namespace thalweg::data
