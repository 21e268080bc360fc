// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/lines.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "data/file_bytes.h"
#include "thalweg/error.h"

namespace thalweg::data {
namespace {

constexpr size_t kFirstBuffer = 64U << 10U;

Lines::Fill fill_from(const std::string& path) {
  const auto file = std::make_shared<RegularFile>(path);
  return [file](char* to, size_t most) { return file->read(to, most); };
}

}  // namespace

Lines::Lines(std::string name, Fill fill, size_t longest)
    : name_(std::move(name)), fill_(std::move(fill)), longest_(longest), buffer_(std::min(kFirstBuffer, longest + 2)) {}

Lines::Lines(const std::string& path, size_t longest) : Lines(path, fill_from(path), longest) {}

/// False if there is no more. Makes room in front or, for a long line, a larger buffer.
bool Lines::fill_more() {
  if (over_) return false;
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (end_ == buffer_.size()) buffer_.resize(std::min(2 * buffer_.size(), longest_ + 2));
  const size_t count = fill_(buffer_.data() + end_, buffer_.size() - end_);
  over_ = count == 0;
  end_ += count;
  return !over_;
}

bool Lines::next(std::string_view& line) {
  size_t searched = 0;
  for (;;) {
    const std::string_view rest(buffer_.data() + begin_, end_ - begin_);
    const size_t length = rest.find('\n', searched);
    const bool found = length != std::string_view::npos;
    if (found || (over_ && !rest.empty())) {
      ++number_;
      TW_REQUIRE((found ? length : rest.size()) <= longest_, name_, ": line ", number_, " is longer than ", longest_,
                 " bytes");
      line = rest.substr(0, length);
      offset_ = next_offset_;
      begin_ += std::min(line.size() + 1, rest.size());
      next_offset_ += static_cast<int64_t>(line.size()) + 1;
      return true;
    }
    TW_REQUIRE(rest.size() <= longest_, name_, ": line ", number_ + 1, " is longer than ", longest_, " bytes");
    searched = rest.size();
    if (!fill_more() && begin_ == end_) return false;
  }
}

}  // namespace thalweg::data
