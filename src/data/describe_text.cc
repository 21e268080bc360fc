// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <numeric>
#include <sstream>
#include <unordered_set>

#include "data/text_lines.h"
#include "thalweg/data/describe.h"

namespace thalweg::data {
namespace {

/// Whether lines begin with classes is known only after the last, so both readings are kept until then. A tab is a
/// space between tokens: those of a line are those of its class and those of the rest.
class TextSurvey {
 public:
  TextSurvey(const TokenizeOptions& options, const Progress& progress, int64_t bytes)
      : options_(options), progress_(progress), bytes_(bytes) {}

  void add(std::string_view line) {
    const size_t tab = line.find('\t');
    const bool labelled = tab != std::string_view::npos && tab > 0;
    labelled_ = labelled_ && labelled;
    const std::string_view name = line.substr(0, labelled ? tab : 0);
    if (labelled_) ++classes_[std::string(name)];
    name_lengths_.push_back(count(name, name_tokens_));
    lengths_.push_back(count(line.substr(name.size()), tokens_));
    done_ += static_cast<int64_t>(line.size()) + 1;
    if (progress_ && lengths_.size() % 1024 == 0) progress_(done_, bytes_);
  }

  TextSummary finish() {
    TextSummary result;
    result.lines = static_cast<int64_t>(lengths_.size());
    if (labelled_) {
      result.classes = std::move(classes_);
    } else {
      tokens_.merge(name_tokens_);
      for (size_t i = 0; i < lengths_.size(); ++i) lengths_[i] += name_lengths_[i];
    }
    result.tokens = static_cast<int64_t>(tokens_.size());
    if (lengths_.empty()) return result;
    std::sort(lengths_.begin(), lengths_.end());
    result.shortest = lengths_.front();
    result.longest = lengths_.back();
    result.half = quantile(50);
    result.most = quantile(90);
    result.nearly_all = quantile(99);
    result.mean_length = std::accumulate(lengths_.begin(), lengths_.end(), 0.0) / static_cast<double>(lengths_.size());
    return result;
  }

 private:
  int64_t count(std::string_view text, std::unordered_set<std::string>& seen) const {
    std::vector<std::string> tokens = tokenize(text, options_);
    const auto length = static_cast<int64_t>(tokens.size());
    for (std::string& token : tokens) seen.insert(std::move(token));
    return length;
  }

  /// The smallest length that so many of a hundred lines do not exceed.
  int64_t quantile(size_t percent) const { return lengths_[(lengths_.size() * percent + 99) / 100 - 1]; }

  const TokenizeOptions options_;
  const Progress progress_;
  const int64_t bytes_;
  int64_t done_ = 0;
  bool labelled_ = true;
  std::map<std::string, int64_t> classes_;
  std::vector<int64_t> lengths_, name_lengths_;
  std::unordered_set<std::string> tokens_, name_tokens_;
};

}  // namespace

TextSummary describe_text(const std::string& path, const TokenizeOptions& options, const Progress& progress) {
  std::error_code unknown;
  const auto bytes = std::filesystem::file_size(path, unknown);
  TextSurvey survey(options, progress, unknown ? 0 : static_cast<int64_t>(bytes));
  read_lines(path, [&](std::string_view line) { survey.add(line); });
  return survey.finish();
}

TextSummary describe_text(const Files& files, const std::string& path, const TokenizeOptions& options,
                          const Progress& progress) {
  TextSurvey survey(options, progress, 0);
  read_lines(files, path, [&](std::string_view line) { survey.add(line); });
  return survey.finish();
}

std::string to_string(const TextSummary& summary, size_t most) {
  std::ostringstream out;
  out << summary.lines << " lines, " << summary.tokens << " different tokens\n";
  if (summary.lines > 0) {
    out << "tokens of a line: " << summary.shortest << " to " << summary.longest << ", mean "
        << static_cast<int64_t>(summary.mean_length + 0.5) << "; half have at most " << summary.half << ", 90% "
        << summary.most << ", 99% " << summary.nearly_all << '\n';
  }
  if (!summary.classes.empty()) out << summary.classes.size() << " classes\n";
  size_t shown = 0;
  for (const auto& [name, count] : summary.classes) {
    if (shown++ == most) return out.str() + "  ...\n";
    out << "  " << name << ": " << count << '\n';
  }
  return out.str();
}

}  // namespace thalweg::data
