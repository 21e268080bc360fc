// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace thalweg::cli {

/// Columns for people: as wide as their widest cell, those of numbers flush right.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> headers) : headers_(std::move(headers)) {}
  /// As many cells as there are headers.
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// Lines, each after `indent` spaces.
  std::string to_string(size_t indent = 0) const;

 private:
  std::vector<std::string> headers_;
  std::vector<std::vector<std::string>> rows_;
};

/// printf for one number: format("%.2f ms", 1.5).
std::string format(const char* pattern, double value);

}  // namespace thalweg::cli
