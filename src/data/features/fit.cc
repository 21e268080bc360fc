// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/features/feature_columns.h"
#include "data/features/statistic.h"
#include "data/json_keys.h"
#include "thalweg/data/features_fit.h"

namespace thalweg::data {
namespace {

using Json = nlohmann::json;

/// Columns that are not there yet, since the features that make them have still to learn.
class Pending {
 public:
  void add(const Feature& feature) { makers_.push_back(&feature); }

  bool concerns(const Feature& feature) const {
    const std::vector<std::string> columns = columns_read_by(feature);
    return std::any_of(columns.begin(), columns.end(), [&](const std::string& column) {
      return std::any_of(makers_.begin(), makers_.end(), [&](const Feature* maker) {
        // Some take their column away.
        return makes_column(*maker, column) || columns_read_by(*maker)[0] == column;
      });
    });
  }

 private:
  std::vector<const Feature*> makers_;
};

/// JSON of a state or a plan that came from elsewhere.
template <typename Read>
auto read_json(const char* what, const std::string& text, Read read) {
  try {
    return read(Json::parse(text));
  } catch (const Json::exception& error) {
    raise(what, ": ", error.what());
  }
}

}  // namespace

FeaturesFit::FeaturesFit(Features features) : FeaturesFit(std::move(features), {}) {}

FeaturesFit::FeaturesFit(Features features, std::vector<bool> learned)
    : features_(std::move(features)), learned_(std::move(learned)) {
  const size_t count = features_.features().size();
  if (learned_.empty()) learned_.resize(count, false);
  TW_REQUIRE(learned_.size() == count, "a fit of features: ", count, " features, but marks for ", learned_.size());
  for (size_t i = 0; i < count; ++i) {
    if (statistic_for(features_.features()[i]) == nullptr) learned_[i] = true;
  }
  begin_pass();
}

FeaturesFit::FeaturesFit(FeaturesFit&&) noexcept = default;
FeaturesFit& FeaturesFit::operator=(FeaturesFit&&) noexcept = default;
FeaturesFit::~FeaturesFit() = default;

bool FeaturesFit::is_done() const {
  return std::all_of(learned_.begin(), learned_.end(), [](bool learned) { return learned; });
}

void FeaturesFit::begin_pass() {
  const std::vector<Feature>& features = features_.features();
  Pending pending;
  steps_.clear();
  statistics_.clear();
  for (size_t i = 0; i < features.size(); ++i) {
    const bool waits = pending.concerns(features[i]);
    steps_.push_back(waits ? Step::kRests : learned_[i] ? Step::kApplies : Step::kLearns);
    statistics_.push_back(steps_[i] == Step::kLearns ? statistic_for(features[i]) : nullptr);
    if (steps_[i] != Step::kApplies) pending.add(features[i]);
  }
  NeededColumns needed;
  for (size_t i = features.size(); i-- > 0;) {
    if (steps_[i] == Step::kLearns) needed.add(columns_read_by(features[i]));
    if (steps_[i] != Step::kApplies) continue;
    if (needed.come_from(features[i])) {
      needed.undo(features[i]);
    } else {
      steps_[i] = Step::kRests;
    }
  }
  sources_.assign(needed.names().rbegin(), needed.names().rend());
}

void FeaturesFit::see(std::vector<Column> columns) {
  const std::vector<Feature>& features = features_.features();
  for (size_t i = 0; i < features.size(); ++i) {
    if (steps_[i] == Step::kLearns) statistics_[i]->see(columns);
    if (steps_[i] == Step::kApplies) apply_feature(features[i], columns);
  }
}

std::string FeaturesFit::state() const {
  Json state = Json::array();
  for (const auto& statistic : statistics_) state.push_back(statistic != nullptr ? statistic->state() : Json());
  return dump_json("features", state);
}

void FeaturesFit::merge(const std::string& state) {
  read_json("a state of fitting features", state, [&](const Json& given) {
    TW_REQUIRE(given.is_array() && given.size() == statistics_.size(), "a state of fitting features is not of these ",
               statistics_.size(), " features");
    for (size_t i = 0; i < statistics_.size(); ++i) {
      TW_REQUIRE(given[i].is_null() == (statistics_[i] == nullptr), "a state of fitting features is of another pass");
      if (statistics_[i] != nullptr) statistics_[i]->merge(given[i]);
    }
    return true;
  });
}

void FeaturesFit::end_pass() {
  std::vector<Feature> taught = features_.features();
  for (size_t i = 0; i < taught.size(); ++i) {
    if (statistics_[i] == nullptr) continue;
    statistics_[i]->teach(taught[i]);
    learned_[i] = true;
  }
  features_ = Features(std::move(taught));
  take_sizes_from_categories();
  begin_pass();
}

/// A one-hot of what a string_index has numbered needs no pass of its own: it has a column for each category.
void FeaturesFit::take_sizes_from_categories() {
  std::vector<Feature> features = features_.features();
  for (size_t i = 0; i < features.size(); ++i) {
    auto* hot = std::get_if<OneHot>(&features[i]);
    if (hot == nullptr || learned_[i]) continue;
    for (size_t before = i; before-- > 0;) {
      if (!makes_column(features[before], hot->column)) continue;
      const auto* index = std::get_if<StringIndex>(&features[before]);
      // With categories left out, one more number occurs in the rows; perhaps.
      const bool all_kept = index != nullptr && index->min_count == 1 && index->most == 0;
      if (all_kept && learned_[before] && !index->categories.empty()) {
        hot->size = static_cast<int64_t>(index->categories.size());
        learned_[i] = true;
      }
      break;
    }
  }
  features_ = Features(std::move(features));
}

std::string FeaturesFit::to_json() const {
  return dump_json("features", {{"features", Json::parse(features_.to_json())}, {"learned", learned_}});
}

FeaturesFit FeaturesFit::from_json(const std::string& text) {
  return read_json("a fit of features", text, [](const Json& given) {
    if (given.is_array()) return FeaturesFit(Features::from_json(given.dump()));
    return FeaturesFit(Features::from_json(given.at("features").dump()), given.at("learned").get<std::vector<bool>>());
  });
}

}  // namespace thalweg::data
