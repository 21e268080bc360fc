// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/features/columns.h"

#include <algorithm>
#include <cmath>

namespace thalweg::data {

int64_t Column::rows() const {
  return std::visit([](const auto& all) { return static_cast<int64_t>(all.size()); }, values);
}

void require_present(const Column& column) {
  const auto first = std::find(column.missing.begin(), column.missing.end(), true);
  TW_REQUIRE(first == column.missing.end(), "column '", column.name, "' has no value in row ",
             first - column.missing.begin(),
             ": fill such values first (a feature of kind impute), or leave the rows out");
}

Texts texts_of(const Column& column) {
  require_present(column);
  if (const auto* texts = std::get_if<Texts>(&column.values)) return *texts;
  const auto* integers = std::get_if<Integers>(&column.values);
  TW_REQUIRE(integers != nullptr, "column '", column.name, "' holds fractions, which are no categories");
  Texts result;
  for (const int64_t value : *integers) result.push_back(std::to_string(value));
  return result;
}

Numbers numbers_of(const Column& column) {
  require_present(column);
  if (const auto* numbers = std::get_if<Numbers>(&column.values)) return *numbers;
  const auto* integers = std::get_if<Integers>(&column.values);
  TW_REQUIRE(integers != nullptr, "column '", column.name, "' holds text: index or hash it first");
  return {integers->begin(), integers->end()};
}

Numbers finite_numbers_of(const Column& column) {
  Numbers values = numbers_of(column);
  for (size_t row = 0; row < values.size(); ++row) {
    TW_REQUIRE(std::isfinite(values[row]), "column '", column.name, "' holds ", values[row], " in row ", row,
               ": leave such rows out or fill them");
  }
  return values;
}

}  // namespace thalweg::data
