// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/text.h"
#include "thalweg/data/features.h"
#include "thalweg/error.h"

/// Columns as features read them.
namespace thalweg::data {

using Numbers = std::vector<double>;
using Integers = std::vector<int64_t>;
using Texts = std::vector<std::string>;

/// Throws if there is none of this name.
template <typename Columns>
auto& find_column(Columns& columns, const std::string& name) {
  for (auto& column : columns) {
    if (column.name == name) return column;
  }
  std::vector<std::string> known;
  for (auto& column : columns) known.push_back(column.name);
  raise("there is no column '", name, "'; near: ", nearest_names(name, known));
}

/// Throws that names the first row without a value.
void require_present(const Column& column);

/// Categories as text, which whole numbers have as well.
Texts texts_of(const Column& column);

Numbers numbers_of(const Column& column);

/// The column that tells where a value was missing.
std::string name_of_indicator(const Impute& feature);

/// To learn from: one NaN would make a NaN of everything that is scaled by it.
Numbers finite_numbers_of(const Column& column);

}  // namespace thalweg::data
