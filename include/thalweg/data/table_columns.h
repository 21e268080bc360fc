// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/data/features.h"
#include "thalweg/data/table.h"

namespace thalweg::data {

/// Columns of a table for Features, which need to see them whole. Fractions and decimals become double, whole numbers
/// and booleans int64_t, dates and timestamps seconds since 1970 in UTC (those without a zone as if they were UTC), and
/// texts stay texts. Of `options` the tensors are not looked at; a null that is filled is `fill`, and in a text "". The
/// nulls of columns in `may_lack` stay, as Column::missing. Part of thalweg_arrow.
std::vector<Column> read_columns(const std::string& uri, const std::vector<std::string>& columns,
                                 const TableOptions& options = {}, const std::vector<std::string>& may_lack = {});

}  // namespace thalweg::data
