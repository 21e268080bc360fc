// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg::data {

/// No line of a file that is read line by line needs to be longer.
inline constexpr size_t kLongestLine = 64U << 20U;

/// The lines of a text, one after the other. No more of it is in memory than the longest line takes.
class Lines {
 public:
  /// Puts up to `most` bytes, at least one unless there are no more, at `to` and returns how many.
  using Fill = std::function<size_t(char* to, size_t most)>;
  Lines(std::string name, Fill fill, size_t longest = kLongestLine);
  /// Of a file of this machine. Throws Error naming it if it cannot be read, or is something else, as a pipe is.
  explicit Lines(const std::string& path, size_t longest = kLongestLine);

  /// Without what ends it; valid until the next call. False after the last. Throws Error naming the file and the line
  /// that is too long.
  bool next(std::string_view& line);
  /// Of the line that `next` gave: from 1, and the place of its first byte.
  int64_t number() const { return number_; }
  int64_t offset() const { return offset_; }

 private:
  bool fill_more();

  const std::string name_;
  const Fill fill_;
  const size_t longest_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;  ///< what of it was not handed out
  int64_t number_ = 0, offset_ = 0, next_offset_ = 0;
  bool over_ = false;
};

}  // namespace thalweg::data
