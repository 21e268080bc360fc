// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thalweg/safetensors.h"

namespace thalweg::formats {

/// One tensor of a file. `begin` and `end` count bytes from the end of the header.
struct SafetensorsEntry {
  std::string name;
  std::string dtype_name;
  std::optional<DType> dtype;
  Shape shape;
  uint64_t begin = 0;
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // by `begin`
  std::map<std::string, std::string> metadata;
  uint64_t data_start = 0;  // bytes from the start of the file
};

/// Parses and checks the header at the start of `file`, all of whose bytes must be there. `path` is for messages.
SafetensorsHeader parse_safetensors(std::span<const std::byte> file, const std::string& path);

/// The bytes before the data of these tensors when they are stored in this order. Throws if names repeat, are not
/// UTF-8, or are reserved.
std::string safetensors_preamble(const std::vector<const NamedTensor*>& tensors,
                                 const std::map<std::string, std::string>& metadata, const std::string& path);

}  // namespace thalweg::formats
