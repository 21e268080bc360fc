// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/dataset/scanner.h>

#include "data/arrow/files.h"

namespace thalweg::data {

/// What is read of table files.
struct ScanRequest {
  std::vector<std::string> columns;
  std::vector<Condition> filter;  ///< all must hold
};

/// Throws if there is no such column, with the names that are near.
void check_columns(const TableFiles& files, const ScanRequest& request);

/// `threads`: on Arrow's own threads.
std::shared_ptr<arrow::dataset::Scanner> make_scanner(arrow::dataset::ScannerBuilder& builder,
                                                      const ScanRequest& request, bool threads, const std::string& uri);

}  // namespace thalweg::data
