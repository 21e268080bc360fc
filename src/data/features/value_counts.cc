// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/features/value_counts.h"

#include <algorithm>
#include <cmath>

#include "thalweg/error.h"

namespace thalweg::data {
namespace {

/// Different values that are counted apart, and how many are left when there were more.
constexpr size_t kMostValues = size_t{1} << 18, kKeptValues = size_t{1} << 17;

}  // namespace

void ValueCounts::add(double value, int64_t count) {
  counts_[value] += count;
  total_ += count;
  if (counts_.size() > kMostValues) put_neighbours_together();
}

void ValueCounts::put_neighbours_together() {
  const double share = static_cast<double>(total_) / static_cast<double>(kKeptValues);
  std::map<double, int64_t> kept;
  int64_t begin = 0;
  double filled = 0;
  for (auto first = counts_.begin(); first != counts_.end();) {
    // All that begin within the same share of the ranks become the one in the middle of them.
    auto end = first;
    int64_t count = 0;
    filled = std::floor(static_cast<double>(begin) / share + 1) * share;
    while (end != counts_.end() && static_cast<double>(begin + count) < filled) count += (end++)->second;
    int64_t before = 0;
    auto middle = first;
    while (before + middle->second < (count + 1) / 2) before += (middle++)->second;
    kept[middle->first] += count;
    begin += count;
    first = end;
  }
  counts_ = std::move(kept);
}

double ValueCounts::ranked(int64_t rank) const {
  int64_t before = 0;
  for (const auto& [value, count] : counts_) {
    before += count;
    if (rank < before) return value;
  }
  return counts_.rbegin()->first;
}

double ValueCounts::at(double part) const {
  TW_REQUIRE(total_ > 0, "there are no values");
  const double rank = part * static_cast<double>(total_ - 1);
  const double low = ranked(static_cast<int64_t>(std::floor(rank)));
  const double high = ranked(static_cast<int64_t>(std::ceil(rank)));
  return low + (high - low) * (rank - std::floor(rank));
}

double ValueCounts::most_frequent() const {
  TW_REQUIRE(total_ > 0, "there are no values");
  return std::max_element(counts_.begin(), counts_.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

nlohmann::json ValueCounts::state() const {
  nlohmann::json values = nlohmann::json::array(), counts = nlohmann::json::array();
  for (const auto& [value, count] : counts_) {
    values.push_back(value);
    counts.push_back(count);
  }
  return {{"values", values}, {"counts", counts}};
}

void ValueCounts::merge(const nlohmann::json& state) {
  const auto values = state.at("values").get<std::vector<double>>();
  const auto counts = state.at("counts").get<std::vector<int64_t>>();
  TW_REQUIRE(values.size() == counts.size(), "a state of counts has ", values.size(), " values and ", counts.size(),
             " counts");
  for (size_t i = 0; i < values.size(); ++i) add(values[i], counts[i]);
}

}  // namespace thalweg::data
