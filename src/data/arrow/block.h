// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/record_batch.h>

#include <string>
#include <vector>

#include "thalweg/data/table.h"

namespace thalweg::data {

/// Rows in the form of a batch: a tensor for each entry of inputs and targets.
struct Block {
  std::vector<Tensor> tensors;
  int64_t rows = 0;
  int64_t bytes() const;
};

/// Turns columns into rows. `where` and `first_row` are for errors.
Block make_block(const arrow::RecordBatch& columns, const std::vector<TensorColumns>& tensors,
                 const TableOptions& options, const std::string& where, int64_t first_row);

}  // namespace thalweg::data
