// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/text_table.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

namespace thalweg::cli {
namespace {

bool is_numeric(const std::string& cell) {
  if (cell.empty() || cell == "-") return true;
  return std::isdigit(static_cast<unsigned char>(cell[0])) != 0 ||
         (cell[0] == '-' && std::isdigit(static_cast<unsigned char>(cell[1])) != 0);
}

}  // namespace

std::string TextTable::to_string(size_t indent) const {
  std::vector<size_t> widths;
  std::vector<bool> numeric;
  for (size_t column = 0; column < headers_.size(); ++column) {
    size_t width = headers_[column].size();
    bool numbers = true;
    for (const auto& row : rows_) {
      width = std::max(width, row[column].size());
      numbers = numbers && is_numeric(row[column]);
    }
    widths.push_back(width);
    numeric.push_back(numbers);
  }
  std::string text;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line(indent, ' ');
    for (size_t column = 0; column < cells.size(); ++column) {
      const std::string blank(widths[column] - cells[column].size(), ' ');
      line += (column > 0 ? "  " : "") + (numeric[column] ? blank + cells[column] : cells[column] + blank);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line(headers_);
  for (const auto& row : rows_) add_line(row);
  return text;
}

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

}  // namespace thalweg::cli
