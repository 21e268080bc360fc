// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <set>

#include "data/columns.h"
#include "data/feature_columns.h"

namespace thalweg::data {
namespace {

bool is_one_of(const OneHot& f, const std::string& name) {
  if (!name.starts_with(f.column + "_")) return false;
  int64_t number = 0;
  const char* end = name.data() + name.size();
  const auto [rest, failure] = std::from_chars(name.data() + f.column.size() + 1, end, number);
  return failure == std::errc() && rest == end && number >= 0 && (f.size == 0 || number < f.size);
}

/// Columns that must be there after some of the changes; going backwards over a change makes of them those that must be
/// there before it.
class Needed {
 public:
  explicit Needed(std::vector<std::string> names) : names_(std::move(names)) {}

  /// True if one of the columns comes from this change.
  bool comes_from(const Feature& feature) const {
    return std::any_of(names_.begin(), names_.end(), [&](const std::string& name) { return makes_column(feature, name); });
  }

  void undo(const Feature& feature) {
    std::erase_if(names_, [&](const std::string& name) { return makes_column(feature, name); });
    for (const std::string& column : columns_read_by(feature)) add(column);
  }

  const std::vector<std::string>& names() const { return names_; }

 private:
  void add(const std::string& name) {
    if (std::find(names_.begin(), names_.end(), name) == names_.end()) names_.push_back(name);
  }

  std::vector<std::string> names_;
};

}  // namespace

std::vector<std::string> columns_read_by(const Feature& feature) {
  const auto columns = [](const auto& f) -> std::vector<std::string> {
    if constexpr (requires { f.columns; }) {
      return f.columns;
    } else {
      return {f.column};
    }
  };
  return std::visit(columns, feature);
}

bool makes_column(const Feature& feature, const std::string& name) {
  if (const auto* crossed = std::get_if<CrossHash>(&feature)) return name == crossed->name;
  if (const auto* hot = std::get_if<OneHot>(&feature)) return is_one_of(*hot, name);
  const auto* filled = std::get_if<Impute>(&feature);
  if (filled != nullptr && filled->indicator && name == name_of_indicator(*filled)) return true;
  return name == columns_read_by(feature)[0];
}

Features Features::for_columns(const std::vector<std::string>& names) const {
  Needed needed(names);
  std::vector<Feature> kept;
  for (auto feature = features_.rbegin(); feature != features_.rend(); ++feature) {
    if (!needed.comes_from(*feature)) continue;
    needed.undo(*feature);
    kept.push_back(*feature);
  }
  std::reverse(kept.begin(), kept.end());
  return Features(std::move(kept));
}

std::vector<std::string> Features::sources(const std::vector<std::string>& names) const {
  Needed needed(names);
  for (auto feature = features_.rbegin(); feature != features_.rend(); ++feature) needed.undo(*feature);
  return needed.names();
}

std::vector<std::string> Features::imputed() const {
  std::set<std::string> read;
  std::vector<std::string> result;
  for (const Feature& feature : features_) {
    for (const std::string& column : columns_read_by(feature)) {
      if (read.insert(column).second && std::holds_alternative<Impute>(feature)) result.push_back(column);
    }
  }
  return result;
}

}  // namespace thalweg::data
