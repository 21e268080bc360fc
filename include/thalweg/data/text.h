// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "thalweg/data/dataset.h"
#include "thalweg/data/files.h"

namespace thalweg::data {

struct TokenizeOptions {
  /// A to Z only; other letters stay as they are.
  bool lower_case = true;
  /// Each ASCII punctuation mark is a token; otherwise only spaces separate.
  bool split_punctuation = true;
};

/// Cuts UTF-8 text into tokens.
std::vector<std::string> tokenize(std::string_view text, const TokenizeOptions& options = {});

struct VocabularyOptions {
  /// Tokens kept, the most frequent ones; 0: all.
  int64_t max_tokens = 0;
  /// Tokens seen less often are left out.
  int64_t min_count = 1;
};

/// Tokens and their numbers. 0 stands for padding and 1 for a token that is not in it.
class Vocabulary {
 public:
  static constexpr int64_t kPadding = 0;
  static constexpr int64_t kUnknown = 1;

  Vocabulary() : Vocabulary(std::vector<std::string>()) {}
  /// The tokens get the numbers 2, 3, ... in this order. Throws if one occurs twice.
  explicit Vocabulary(std::vector<std::string> tokens);
  /// The most frequent first; those seen equally often in the order of their bytes.
  static Vocabulary from_counts(const std::map<std::string, int64_t>& counts, const VocabularyOptions& options = {});

  /// Padding and unknown included.
  int64_t size() const { return static_cast<int64_t>(tokens_.size()) + 2; }
  int64_t index(const std::string& token) const;
  std::vector<int64_t> encode(std::string_view text, const TokenizeOptions& options = {}) const;
  const std::vector<std::string>& tokens() const { return tokens_; }

  /// A text file with a token on each line.
  void save(const std::string& path) const;
  static Vocabulary load(const std::string& path);

 private:
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, int64_t> numbers_;
};

enum class Side { kFront, kBack };

/// How sequences of any length become rows of one length.
struct SequenceShape {
  int64_t length = 500;
  Side pad = Side::kFront;       ///< where a shorter one is padded
  Side truncate = Side::kFront;  ///< where a longer one is cut
};
void shape_sequence(std::span<const int64_t> sequence, const SequenceShape& shape, int64_t* out);

/// From text to a row of token numbers, as a model takes it: what travels with the model.
struct TextPreprocessing {
  Vocabulary vocabulary = {};
  TokenizeOptions tokenize = {};
  SequenceShape shape = {};

  /// `out` has room for `shape.length` numbers.
  void encode(std::string_view text, int64_t* out) const;

  /// {"tokens": [...], "lower_case": true, "split_punctuation": true, "length": 500, "pad": "front", "truncate":
  /// "front"}. Tokens must be there, the rest keeps its default where it is absent; unknown keys are errors, and so is
  /// a token that is not UTF-8.
  std::string to_json() const;
  static TextPreprocessing from_json(const std::string& text);
};

struct TextLinesOptions {
  TokenizeOptions tokenize = {};
  SequenceShape shape = {};
  /// Each line begins with its class and a tab. Classes that are all whole numbers are the labels themselves; others
  /// are numbered in the order of their names.
  bool labels = true;
};

/// The lines of a text file as rows of token numbers, i64 [N, length], with the label as target. Empty lines do not
/// count. Opening reads the file once; lines are read and tokenised as they are needed.
class TextLines : public Dataset {
 public:
  TextLines(const std::string& path, Vocabulary vocabulary, const TextLinesOptions& options = {});
  /// Of a file somewhere else (data/remote_files.h), which stays in memory.
  TextLines(const Files& files, const std::string& path, Vocabulary vocabulary, const TextLinesOptions& options = {});
  ~TextLines() override;

  int64_t size() const override;
  std::vector<TensorType> input_types() const override;
  std::vector<TensorType> target_types() const override;
  void read(std::span<const int64_t> indices, const Draw& draw, const Batch& batch, int64_t row) const override;
  /// Every class has a line.
  std::optional<int64_t> highest_class() const override {
    return classes().empty() ? std::nullopt : std::optional(static_cast<int64_t>(classes().size()) - 1);
  }
  const std::vector<std::string>& classes() const;
  const TextPreprocessing& preprocessing() const;

 private:
  class Impl;
  /// Shared with its readers: one that a loader has left behind may come back when this object is gone.
  std::shared_ptr<Impl> impl_;
};

/// How often each token occurs in the lines that TextLines would read, for Vocabulary::from_counts.
std::map<std::string, int64_t> count_tokens(const std::string& path, const TextLinesOptions& options = {});
std::map<std::string, int64_t> count_tokens(const Files& files, const std::string& path,
                                            const TextLinesOptions& options = {});

}  // namespace thalweg::data
