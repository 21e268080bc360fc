// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "data/class_names.h"
#include "data/rows.h"
#include "thalweg/data/text.h"

namespace thalweg::data {
namespace {

constexpr size_t kLongestLine = 64U << 20U;

struct Line {
  int64_t offset;
  std::string_view label;
  std::string_view text;
  int64_t text_offset() const { return offset + (text.data() - (label.empty() ? text.data() : label.data())); }
};

/// Hands each line that counts to `use`. Throws Error naming the file and line without a label.
template <typename Use>
void for_each_line(const std::string& path, bool labels, const Use& use) {
  std::ifstream file(path, std::ios::binary);
  TW_REQUIRE(file.good(), path, ": cannot read");
  int64_t offset = 0;
  int64_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const int64_t begin = offset;
    offset += static_cast<int64_t>(line.size()) + 1;
    TW_REQUIRE(line.size() <= kLongestLine, path, ": line ", number, " is longer than ", kLongestLine, " bytes");
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    const std::string_view all = line;
    if (!labels) {
      use(Line{begin, {}, all});
      continue;
    }
    const size_t tab = all.find('\t');
    TW_REQUIRE(tab != std::string_view::npos && tab > 0, path, ": line ", number,
               ": expected a class, a tab and text, got '", all.substr(0, 100), "'");
    use(Line{begin, all.substr(0, tab), all.substr(tab + 1)});
  }
  TW_REQUIRE(file.eof(), path, ": reading failed after line ", number);
}

}  // namespace

class TextLines::Impl {
 public:
  Impl(const std::string& path, Vocabulary vocabulary, const TextLinesOptions& options)
      : path_(path), vocabulary_(std::move(vocabulary)), options_(options) {
    TW_REQUIRE(options.shape.length > 0, path, ": sequences of length ", options.shape.length);
    std::vector<std::string> names;
    for_each_line(path, options.labels, [&](const Line& line) {
      places_.push_back({line.text_offset(), static_cast<int64_t>(line.text.size())});
      if (options.labels) names.emplace_back(line.label);
    });
    labels_ = number_classes(names);
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    TW_REQUIRE(descriptor_ >= 0, path, ": cannot read: ", std::strerror(errno));
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { ::close(descriptor_); }

  int64_t size() const { return static_cast<int64_t>(places_.size()); }
  const TextLinesOptions& options() const { return options_; }
  const Labels& labels() const { return labels_; }

  void read_line(int64_t index, int64_t* out) const {
    TW_REQUIRE(index >= 0 && index < size(), path_, ": ", size(), " lines, none has the number ", index);
    const Place place = places_[static_cast<size_t>(index)];
    thread_local std::string text;
    text.resize(static_cast<size_t>(place.length));
    const ssize_t count = ::pread(descriptor_, text.data(), text.size(), place.offset);
    TW_REQUIRE(count == place.length, path_, ": changed or failed while line ", index, " was read");
    shape_sequence(vocabulary_.encode(text, options_.tokenize), options_.shape, out);
  }

 private:
  struct Place {
    int64_t offset, length;
  };
  const std::string path_;
  const Vocabulary vocabulary_;
  const TextLinesOptions options_;
  std::vector<Place> places_;
  Labels labels_;
  int descriptor_ = -1;
};

TextLines::TextLines(const std::string& path, Vocabulary vocabulary, const TextLinesOptions& options)
    : impl_(std::make_unique<Impl>(path, std::move(vocabulary), options)) {}
TextLines::~TextLines() = default;
int64_t TextLines::size() const { return impl_->size(); }
std::vector<TensorType> TextLines::input_types() const {
  return {{DType::kI64, {kFree, impl_->options().shape.length}}};
}
std::vector<TensorType> TextLines::target_types() const {
  if (!impl_->options().labels) return {};
  return {{DType::kI64, {kFree}}};
}
void TextLines::read(std::span<const int64_t> indices, const Draw& /*draw*/, const Batch& batch, int64_t row) const {
  for (const int64_t index : indices) {
    impl_->read_line(index, batch.inputs[0].data<int64_t>() + row * impl_->options().shape.length);
    if (impl_->options().labels) {
      batch.targets[0].data<int64_t>()[row] = impl_->labels().labels[static_cast<size_t>(index)];
    }
    ++row;
  }
}
const std::vector<std::string>& TextLines::classes() const { return impl_->labels().classes; }

std::map<std::string, int64_t> count_tokens(const std::string& path, const TextLinesOptions& options) {
  std::map<std::string, int64_t> counts;
  for_each_line(path, options.labels, [&](const Line& line) {
    for (const std::string& token : tokenize(line.text, options.tokenize)) ++counts[token];
  });
  return counts;
}

}  // namespace thalweg::data
