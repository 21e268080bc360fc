// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "thalweg/c_preparation.h"
#include "thalweg/data/features.h"

namespace thalweg::capi {

/// Copies of the caller's columns. Throws Error that names the column that cannot be read.
std::vector<data::Column> columns_from(const tw_row_column* columns, size_t count, int64_t rows);

}  // namespace thalweg::capi
