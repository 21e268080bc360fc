// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "data/features/columns.h"
#include "data/features/kinds.h"

namespace thalweg::data {
namespace {

class Categories final : public OfKind<StringIndex> {
 public:
  using OfKind::OfKind;
  nlohmann::json state() const override { return seen_; }
  void merge(const nlohmann::json& state) override {
    for (const auto& [text, count] : state.get<std::map<std::string, int64_t>>()) seen_[text] += count;
  }

 protected:
  void see(const Column& column) override {
    for (const std::string& text : texts_of(column)) ++seen_[text];
  }
  void teach(StringIndex& feature) const override {
    std::vector<std::pair<std::string, int64_t>> kept;
    for (const auto& seen : seen_) {
      if (seen.second >= feature.min_count) kept.push_back(seen);
    }
    if (feature.most > 0 && kept.size() > static_cast<size_t>(feature.most)) {
      std::stable_sort(kept.begin(), kept.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
      kept.resize(static_cast<size_t>(feature.most));
      std::sort(kept.begin(), kept.end());
    }
    feature.categories.clear();
    for (auto& [text, count] : kept) feature.categories.push_back(std::move(text));
  }

 private:
  std::map<std::string, int64_t> seen_;
};

}  // namespace

void apply(const StringIndex& f, std::vector<Column>& columns) {
  Column& column = find_column(columns, f.column);
  // Others may have written the categories in an order of their own.
  std::unordered_map<std::string_view, int64_t> numbers;
  for (const std::string& category : f.categories) numbers.emplace(category, static_cast<int64_t>(numbers.size()));
  Integers result;
  for (const std::string& text : texts_of(column)) {
    const auto found = numbers.find(text);
    result.push_back(found != numbers.end() ? found->second : static_cast<int64_t>(f.categories.size()));
  }
  column.values = std::move(result);
}

std::unique_ptr<FeatureStatistic> statistic_of(const StringIndex& f) { return std::make_unique<Categories>(f); }

const char* complaint_of(const StringIndex& f) {
  const std::unordered_set<std::string_view> different(f.categories.begin(), f.categories.end());
  if (different.size() != f.categories.size()) return "a category occurs twice";
  return f.min_count > 0 && f.most >= 0 ? nullptr : "min_count must be positive, and most not negative";
}

}  // namespace thalweg::data
