// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Tokenizer of the domain com.microsoft, which vectorisers of texts are exported with.
#include <algorithm>

#include "base/limits.h"
#include "graph/host_op.h"
#include "ops/regex.h"
#include "thalweg/stored_types.h"

namespace thalweg {
namespace {

/// How a text is cut: at what matches an expression, or into what does.
class Cutter {
 public:
  explicit Cutter(const HostContext& call)
      : least_(call.integer("mincharnum", 1)), into_matches_(call.has_attribute("tokenexp")) {
    const std::vector<std::string> separators = call.attrs().texts("separators");
    TW_REQUIRE(into_matches_ != !separators.empty(), "either separators or tokenexp must be given");
    letters_ = separators.size() == 1 && separators[0].empty();
    if (letters_) return;
    std::string pattern = call.text("tokenexp", "");
    for (const std::string& separator : separators) {
      TW_REQUIRE(!separator.empty(), "one of several separators is empty");
      pattern += (pattern.empty() ? "(?:" : "|(?:") + separator + ")";
    }
    regex_ = std::make_shared<const Regex>(pattern);
  }

  std::vector<std::string> tokens_of(const std::string& text) const {
    std::vector<std::string> tokens;
    size_t begin = 0;
    for (size_t at = 0; at < text.size();) {
      const size_t end = letters_ ? next_letter(text, at) : regex_->longest_match(text, at);
      const bool matches = end != std::string::npos && end > at;
      if (matches && (letters_ || into_matches_)) add(text.substr(at, end - at), tokens);
      if (matches && !letters_ && !into_matches_) add(text.substr(begin, at - begin), tokens);
      at = matches ? end : next_letter(text, at);
      if (matches) begin = at;
    }
    if (!letters_ && !into_matches_) add(text.substr(begin), tokens);
    return tokens;
  }

 private:
  static bool goes_on(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; }
  static size_t next_letter(const std::string& text, size_t at) {
    do {
      ++at;
    } while (at < text.size() && goes_on(text[at]));
    return at;
  }
  void add(const std::string& token, std::vector<std::string>& tokens) const {
    const auto letters = std::count_if(token.begin(), token.end(), [](char c) { return !goes_on(c); });
    if (letters > 0 && letters >= least_) tokens.push_back(token);
  }

  int64_t least_;
  bool into_matches_, letters_ = false;
  std::shared_ptr<const Regex> regex_;
};

std::vector<Tensor> tokenize(const HostContext& call) {
  const Tensor& x = call.input(0);
  const auto cutter = call.made_once<Cutter>([&] { return Cutter(call); });
  const bool marks = call.flag("mark", false);
  std::vector<std::vector<std::string>> rows;
  size_t widest = 0;
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    rows.push_back(cutter->tokens_of(stored::texts_of(x)[i]));
    if (marks) {
      rows.back().insert(rows.back().begin(), "\x02");
      rows.back().emplace_back("\x03");
    }
    widest = std::max(widest, rows.back().size());
  }
  require_memory(rows.size() * widest * sizeof(std::string));
  std::vector<std::string> tokens;
  for (std::vector<std::string>& row : rows) {
    row.resize(widest, call.text("pad_value", ""));
    tokens.insert(tokens.end(), row.begin(), row.end());
  }
  std::vector<int64_t> dims = x.shape().dims();
  dims.push_back(static_cast<int64_t>(widest));
  return {stored::texts(Shape(std::move(dims)), std::move(tokens))};
}

const RegisterHost kTokenizer("com.microsoft.Tokenizer", tokenize);

}  // namespace
}  // namespace thalweg
