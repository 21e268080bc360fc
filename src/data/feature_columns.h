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

void apply_feature(const Feature& feature, std::vector<Column>& columns);

}  // namespace thalweg::data
