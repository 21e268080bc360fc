// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/class_names.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "thalweg/error.h"

namespace thalweg::data {
namespace {

constexpr int64_t kMostClasses = 1'000'000;

std::optional<int64_t> whole_number(const std::string& text) {
  int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = end == text.data() + text.size() && !text.empty() && text.front() != '-';
  if (failure == std::errc::result_out_of_range && whole) return std::numeric_limits<int64_t>::max();
  return failure == std::errc() && whole ? std::optional(value) : std::nullopt;
}

}  // namespace

Labels number_classes(const std::string& where, const std::vector<std::string>& texts) {
  const std::set<std::string> names(texts.begin(), texts.end());
  const bool numbers =
      std::all_of(names.begin(), names.end(), [](const std::string& name) { return whole_number(name).has_value(); });
  std::map<std::string, int64_t> label_of;
  Labels result;
  int64_t largest = -1;
  for (const std::string& name : names) {
    label_of[name] = numbers ? *whole_number(name) : static_cast<int64_t>(label_of.size());
    largest = std::max(largest, label_of[name]);
    if (!numbers) result.classes.push_back(name);
  }
  TW_REQUIRE(largest < kMostClasses, where, ": class ", largest, " is more than the largest number of a class, ",
             kMostClasses - 1, "; classes whose names are numbers need some letter");
  for (int64_t i = 0; numbers && i <= largest; ++i) result.classes.push_back(std::to_string(i));
  result.labels.reserve(texts.size());
  for (const std::string& text : texts) result.labels.push_back(label_of.at(text));
  return result;
}

}  // namespace thalweg::data
