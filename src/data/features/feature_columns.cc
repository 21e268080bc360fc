// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/features/feature_columns.h"

#include <algorithm>
#include <charconv>

#include "data/features/columns.h"

namespace thalweg::data {
namespace {

bool is_one_of(const OneHot& f, const std::string& name) {
  if (!name.starts_with(f.column + "_")) return false;
  int64_t number = 0;
  const char* end = name.data() + name.size();
  const auto [rest, failure] = std::from_chars(name.data() + f.column.size() + 1, end, number);
  return failure == std::errc() && rest == end && number >= 0 && (f.size == 0 || number < f.size);
}

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
  if (const auto* date = std::get_if<DateParts>(&feature)) {
    return std::any_of(date->parts.begin(), date->parts.end(),
                       [&](const std::string& part) { return name == date->column + "_" + part; });
  }
  const auto* filled = std::get_if<Impute>(&feature);
  if (filled != nullptr && filled->indicator && name == name_of_indicator(*filled)) return true;
  return name == columns_read_by(feature)[0];
}

bool NeededColumns::come_from(const Feature& feature) const {
  return std::any_of(names_.begin(), names_.end(),
                     [&](const std::string& name) { return makes_column(feature, name); });
}

void NeededColumns::undo(const Feature& feature) {
  std::erase_if(names_, [&](const std::string& name) { return makes_column(feature, name); });
  add(columns_read_by(feature));
}

void NeededColumns::add(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (std::find(names_.begin(), names_.end(), name) == names_.end()) names_.push_back(name);
  }
}

Features Features::for_columns(const std::vector<std::string>& names) const {
  NeededColumns needed(names);
  std::vector<Feature> kept;
  for (auto feature = features_.rbegin(); feature != features_.rend(); ++feature) {
    if (!needed.come_from(*feature)) continue;
    needed.undo(*feature);
    kept.push_back(*feature);
  }
  std::reverse(kept.begin(), kept.end());
  return Features(std::move(kept));
}

std::vector<std::string> Features::sources(const std::vector<std::string>& names) const {
  NeededColumns needed(names);
  for (auto feature = features_.rbegin(); feature != features_.rend(); ++feature) needed.undo(*feature);
  return needed.names();
}

std::vector<std::string> Features::imputed() const {
  // A column that a feature before has read or made is no longer as the table has it.
  const auto is_first = [&](size_t place, const std::string& column) {
    return std::none_of(
        features_.begin(), features_.begin() + static_cast<ptrdiff_t>(place), [&](const Feature& before) {
          const std::vector<std::string> read = columns_read_by(before);
          return makes_column(before, column) || std::find(read.begin(), read.end(), column) != read.end();
        });
  };
  std::vector<std::string> result;
  for (size_t i = 0; i < features_.size(); ++i) {
    const auto* filled = std::get_if<Impute>(&features_[i]);
    if (filled != nullptr && is_first(i, filled->column)) result.push_back(filled->column);
  }
  return result;
}

}  // namespace thalweg::data
