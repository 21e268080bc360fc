// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <string>
#include <vector>

namespace thalweg {

/// A regular expression over UTF-8, run as an automaton that is in several states at once: its time is that of the text
/// times the expression, whatever both are. Understands literals, ., classes, \d \w \s \b, groups, |, *, +, ?, {m,n}, ^
/// and
/// $; back references and what looks around are errors.
class Regex {
 public:
  /// Throws an Error that says what is not understood.
  explicit Regex(const std::string& pattern);
  bool matches_whole(const std::string& text) const;
  /// Where the longest match that begins at `from` ends; npos if there is none.
  size_t longest_match(const std::string& text, size_t from) const;

 private:
  friend class RegexParser;
  enum class Kind { kBytes, kSplit, kBegin, kEnd, kBoundary, kNoBoundary, kMatch };
  struct State {
    Kind kind;
    std::bitset<256> bytes;
    size_t next = 0, other = 0;
  };
  void follow(size_t state, const std::string& text, size_t at, std::vector<bool>& active) const;

  std::vector<State> states_;
  size_t start_ = 0;
};

}  // namespace thalweg
