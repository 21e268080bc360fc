// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg::formats {

inline constexpr const char* kMetadataKey = "__metadata__";

/// A tensor as the header's JSON describes it; the values are not checked against each other yet.
struct JsonEntry {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  uint64_t begin = 0;
  uint64_t end = 0;
};

struct JsonHeader {
  std::vector<JsonEntry> entries;
  std::map<std::string, std::string> metadata;
};

/// Reads the JSON of a header as a stream, without building a document: memory stays in proportion to the text and
/// nesting cannot exhaust the stack. Throws on anything but the structure that the format has, repeated keys included.
JsonHeader parse_header_json(std::string_view text, const std::string& path);

}  // namespace thalweg::formats
