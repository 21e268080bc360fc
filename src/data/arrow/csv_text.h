// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg::data {

/// Memory for a part of a file, to be used for one after the other.
class CsvPart {
 public:
  /// Whole lines, each with its end. At least kDecimalBytes before them and a vector's width after them can be read.
  std::string_view lines() const { return lines_; }

 private:
  friend class CsvText;
  std::vector<char> bytes_;
  std::string_view lines_;
};

/// A local file of lines under a header, read in parts that fit into a processor's cache.
class CsvText {
 public:
  /// Nothing if the file cannot be read or has no line: whoever reads it next will say why.
  static std::optional<CsvText> open(const std::string& path);

  /// The first line, without its end.
  const std::string& header() const { return header_; }
  size_t num_parts() const;
  /// The lines that begin in this part; may be none. False if they cannot be read. From any thread.
  bool read(size_t number, CsvPart& part) const;

 private:
  CsvText(std::shared_ptr<const int> file, size_t size) : file_(std::move(file)), size_(size) {}
  bool read_header();
  bool read_bytes(size_t at, size_t count, char* to) const;

  std::shared_ptr<const int> file_;  ///< a descriptor, closed with the last copy
  size_t size_;
  std::string header_;
  size_t body_ = 0;  ///< where the header's line ends
};

struct FieldEnds {
  std::span<const uint32_t> places;  ///< of separators and line ends
  size_t lines = 0;
  bool carriage_returns = false;  ///< before every line end; before none otherwise
};

/// Keeps the places in `memory`, which grows as needed. Nothing if a quote is among the text, or carriage returns other
/// than before every line end: those places could mean something else. A vector's width after the text is read.
std::optional<FieldEnds> find_field_ends(std::string_view text, char separator, std::vector<uint32_t>& memory);

}  // namespace thalweg::data
