// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/manifest.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <optional>

#include "thalweg/error.h"

namespace thalweg::data {
namespace {

constexpr int64_t kMostClasses = 10'000'000;

std::optional<int64_t> whole_number(const std::string& text) {
  int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || value < 0 || value >= kMostClasses) return {};
  return value;
}

/// The number of each class by its name, and the names by number.
std::map<std::string, int64_t> number_classes(const std::map<std::string, int64_t>& seen,
                                              std::vector<std::string>& classes) {
  std::map<std::string, int64_t> numbers;
  int64_t largest = -1;
  for (const auto& [name, count] : seen) {
    const std::optional<int64_t> number = whole_number(name);
    if (!number) {
      numbers.clear();
      break;
    }
    numbers[name] = *number;
    largest = std::max(largest, *number);
  }
  if (!numbers.empty()) {
    for (int64_t i = 0; i <= largest; ++i) classes.push_back(std::to_string(i));
    return numbers;
  }
  for (const auto& [name, count] : seen) {
    numbers[name] = static_cast<int64_t>(classes.size());
    classes.push_back(name);
  }
  return numbers;
}

}  // namespace

LabelledFiles read_manifest(const std::string& path) {
  std::ifstream file(path);
  TW_REQUIRE(file.good(), path, ": cannot read the manifest");
  LabelledFiles result;
  std::vector<std::string> names;
  std::map<std::string, int64_t> seen;
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
    ++seen[names.back()];
  }
  TW_REQUIRE(file.eof(), path, ": reading failed after line ", number);
  const std::map<std::string, int64_t> numbers = number_classes(seen, result.classes);
  for (const std::string& name : names) result.labels.push_back(numbers.at(name));
  return result;
}

}  // namespace thalweg::data
