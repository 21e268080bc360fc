// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/dataset/api.h>

#include <atomic>
#include <memory>
#include <string>

#include "thalweg/data/table.h"

namespace thalweg::data {

/// Files of one format as Arrow's dataset.
struct TableFiles {
  std::string uri;
  TableFormat format = TableFormat::kParquet;
  std::shared_ptr<arrow::dataset::Dataset> dataset;
  std::vector<std::shared_ptr<arrow::dataset::Fragment>> fragments;
  /// The files' paths if they are local, otherwise empty.
  std::vector<std::string> local_paths;
  char csv_separator = ',';
  /// Counts CSV rows left out; the parser holds on to it.
  std::shared_ptr<std::atomic<int64_t>> skipped_rows;
};

/// Finds the files and reads their schema. Columns of CSV files that `options` turns into tensors are parsed as that
/// type from the start; the types of others are guessed from the first rows.
TableFiles open_files(const std::string& uri, const TableOptions& options);

/// Of the row groups of a Parquet file: the part of a fragment, and its rows.
struct RowGroup {
  std::shared_ptr<arrow::dataset::Fragment> fragment;
  int64_t rows = 0;
};
std::vector<RowGroup> row_groups(const TableFiles& files);

}  // namespace thalweg::data
