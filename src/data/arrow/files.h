// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/dataset/api.h>
#include <arrow/filesystem/filesystem.h>

#include <atomic>
#include <memory>
#include <string>

#include "thalweg/data/table.h"
#include "thalweg/error.h"

namespace thalweg::data {

/// An address without options and without what nobody should read in a message, for errors. Paths stay as they are.
std::string without_secrets(const std::string& uri);

/// The file system of a URI or path, and in `path` what follows it there. Throws Error that begins with the URI,
/// without its secrets.
std::shared_ptr<arrow::fs::FileSystem> open_file_system(const std::string& uri, std::string& path);

/// Files of one format, found but not opened.
struct FoundFiles {
  std::string uri;  ///< without secrets
  TableFormat format = TableFormat::kParquet;
  std::shared_ptr<arrow::fs::FileSystem> system;
  std::vector<arrow::fs::FileInfo> files;
  char csv_separator = ',';

  bool are_local() const { return system->type_name() == "local"; }
};
FoundFiles find_files(const std::string& uri, const TableOptions& options);

/// Files of one format as Arrow's dataset.
struct TableFiles {
  std::string uri;  ///< without secrets
  TableFormat format = TableFormat::kParquet;
  std::shared_ptr<arrow::dataset::Dataset> dataset;
  std::vector<std::shared_ptr<arrow::dataset::Fragment>> fragments;
  /// Counts CSV rows left out; the parser holds on to it.
  std::shared_ptr<std::atomic<int64_t>> skipped_rows;
};

/// Reads the files' schema. Columns of CSV files that `options` turns into tensors are parsed as that type from the
/// start; the types of others are guessed from the first rows.
TableFiles open_files(const FoundFiles& found, const TableOptions& options);

/// What is wrong with a value of a CSV file, with the name of its column, by Arrow's message, which has the number; ""
/// if that is about something else.
std::string conversion_problem(const FoundFiles& found, const std::string& message);

/// What `read`, which reads these files, returns; names the column if a value has not the type of its column.
template <typename Read>
auto naming_columns(const FoundFiles& found, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    const std::string problem = conversion_problem(found, error.what());
    if (!problem.empty()) raise(problem);
    throw;
  }
}

/// Of the row groups of a Parquet file: the part of a fragment, and its rows.
struct RowGroup {
  std::shared_ptr<arrow::dataset::Fragment> fragment;
  int64_t rows = 0;
};
std::vector<RowGroup> row_groups(const TableFiles& files);

}  // namespace thalweg::data
