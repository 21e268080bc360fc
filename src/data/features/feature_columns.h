// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "thalweg/data/features.h"

/// Which columns a feature takes and gives, and what it does to them.
namespace thalweg::data {

std::vector<std::string> columns_read_by(const Feature& feature);

/// True if a column of this name is what the feature gives; a change in place gives the column that it reads. A one-hot
/// whose size is not known may give any of its columns.
bool makes_column(const Feature& feature, const std::string& name);

/// Columns that must be there after some features; going backwards over a feature makes of them those that must be
/// there before it.
class NeededColumns {
 public:
  explicit NeededColumns(std::vector<std::string> names = {}) : names_(std::move(names)) {}

  /// True if one of the columns is what this feature gives.
  bool come_from(const Feature& feature) const;
  void undo(const Feature& feature);
  void add(const std::vector<std::string>& names);
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

void apply_feature(const Feature& feature, std::vector<Column>& columns);

}  // namespace thalweg::data
