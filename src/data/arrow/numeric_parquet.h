// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/arrow/block.h"
#include "data/arrow/files.h"

namespace thalweg::data {

/// Reads a row group of a local file whose chosen columns are plain numbers without nulls, straight into rows: a few
/// columns at a time, so that what is decoded is still in the cache when it is put in its place. Gives nothing where
/// the row group holds anything else: Arrow's scanner then reads it, or says what is wrong.
BlockPtr read_numeric_row_group(const RowGroup& group, BlockMaker& maker);

}  // namespace thalweg::data
