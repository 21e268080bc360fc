// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/text.h"

#include <algorithm>

#include "base/atomic_file.h"
#include "data/lines.h"

namespace thalweg::data {
namespace {

bool is_space(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_punctuation(unsigned char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

}  // namespace

std::vector<std::string> tokenize(std::string_view text, const TokenizeOptions& options) {
  std::vector<std::string> tokens;
  std::string token;
  const auto finish = [&] {
    if (!token.empty()) tokens.push_back(std::move(token));
    token.clear();
  };
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_space(byte)) {
      finish();
    } else if (options.split_punctuation && is_punctuation(byte)) {
      finish();
      tokens.emplace_back(1, c);
    } else {
      token += options.lower_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  finish();
  return tokens;
}

Vocabulary::Vocabulary(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {
  for (const std::string& token : tokens_) {
    const bool is_new = numbers_.emplace(token, static_cast<int64_t>(numbers_.size()) + 2).second;
    TW_REQUIRE(is_new, "vocabulary: '", token, "' occurs twice");
  }
}

Vocabulary Vocabulary::from_counts(const std::map<std::string, int64_t>& counts, const VocabularyOptions& options) {
  std::vector<std::pair<int64_t, std::string>> sorted;
  for (const auto& [token, count] : counts) {
    if (count >= options.min_count) sorted.emplace_back(count, token);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  if (options.max_tokens > 0 && static_cast<int64_t>(sorted.size()) > options.max_tokens) {
    sorted.resize(static_cast<size_t>(options.max_tokens));
  }
  std::vector<std::string> tokens;
  for (auto& [count, token] : sorted) tokens.push_back(std::move(token));
  return Vocabulary(std::move(tokens));
}

int64_t Vocabulary::index(const std::string& token) const {
  const auto found = numbers_.find(token);
  return found == numbers_.end() ? kUnknown : found->second;
}

std::vector<int64_t> Vocabulary::encode(std::string_view text, const TokenizeOptions& options) const {
  std::vector<int64_t> numbers;
  for (const std::string& token : tokenize(text, options)) numbers.push_back(index(token));
  return numbers;
}

void Vocabulary::save(const std::string& path) const {
  AtomicFile file(path);
  for (const std::string& token : tokens_) {
    TW_REQUIRE(token.find_first_of("\r\n") == std::string::npos, path, ": token '", token, "' holds the end of a line");
    const std::string line = token + "\n";
    file.write(line.data(), line.size());
  }
  file.commit();
}

Vocabulary Vocabulary::load(const std::string& path) {
  Lines lines(path);
  std::vector<std::string> tokens;
  for (std::string_view line; lines.next(line);) tokens.emplace_back(line);
  try {
    return Vocabulary(std::move(tokens));
  } catch (const Error& error) {
    raise(path, ": ", error.what());
  }
}

void shape_sequence(std::span<const int64_t> sequence, const SequenceShape& shape, int64_t* out) {
  const auto length = static_cast<size_t>(shape.length);
  if (sequence.size() > length) {
    sequence = shape.truncate == Side::kFront ? sequence.last(length) : sequence.first(length);
  }
  const size_t padding = length - sequence.size();
  int64_t* begin = shape.pad == Side::kFront ? out + padding : out;
  std::fill_n(shape.pad == Side::kFront ? out : out + sequence.size(), padding, Vocabulary::kPadding);
  std::copy(sequence.begin(), sequence.end(), begin);
}

}  // namespace thalweg::data
