// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg::data {

/// Millions of short texts in two blocks of memory.
class TextList {
 public:
  void add(std::string_view text) {
    text_.insert(text_.end(), text.begin(), text.end());
    ends_.push_back(text_.size());
  }
  size_t size() const { return ends_.size(); }
  std::string_view operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return {text_.data() + begin, ends_[i] - begin};
  }

 private:
  std::vector<char> text_;
  std::vector<size_t> ends_;
};

struct Listing {
  std::vector<std::string> folders;
  std::vector<std::string> files;
};

/// What a directory holds, each in the order of names; hidden entries (with a leading dot) are left out. Throws Error
/// naming the directory and the system's reason.
Listing list_directory(const std::string& directory);

/// Files with an image's extension in `directory` / `within` and all folders below, as paths within `directory`, in
/// order. Folders that lead back to one above them are an Error.
void list_images(const std::string& directory, const std::string& within, TextList& paths);

bool has_image_extension(std::string_view name);
bool has_table_extension(std::string_view name);

}  // namespace thalweg::data
