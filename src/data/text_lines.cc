// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/text_lines.h"

#include <algorithm>
#include <cstring>

#include "data/class_names.h"
#include "data/file_bytes.h"
#include "data/lines.h"
#include "data/rows.h"
#include "thalweg/data/text.h"

namespace thalweg::data {
namespace {

struct Line {
  int64_t offset;
  std::string_view label;
  std::string_view text;
  int64_t text_offset() const { return offset + (text.data() - (label.empty() ? text.data() : label.data())); }
};

/// Where the lines are: in a file of this machine, or, of one somewhere else, in memory.
class TextFile {
 public:
  explicit TextFile(const std::string& path) : name_(path), file_(std::make_unique<RegularFile>(path)) {}
  TextFile(const Files& files, const std::string& path) : name_(files.name() + "/" + path) {
    files.read(path, bytes_, kMostBytes);
  }

  const std::string& name() const { return name_; }

  Lines lines() const {
    return {name_, [this, offset = size_t{0}](char* to, size_t most) mutable {
              const size_t size = file_ != nullptr ? static_cast<size_t>(file_->size()) : bytes_.size();
              const size_t count = std::min(most, size - offset);
              TW_REQUIRE(read(static_cast<int64_t>(offset), to, count), name_, ": became shorter while it was read");
              offset += count;
              return count;
            }};
  }

  /// False if there are not so many bytes at that place.
  bool read(int64_t offset, char* to, size_t count) const {
    if (file_ != nullptr) return file_->read_at(offset, to, count);
    std::memcpy(to, bytes_.data() + offset, count);
    return true;
  }

 private:
  static constexpr int64_t kMostBytes = int64_t{16} << 30;

  const std::string name_;
  std::vector<uint8_t> bytes_;
  std::unique_ptr<const RegularFile> file_;
};

/// Hands each line that counts to `use`. Throws Error naming the file and line without a label.
template <typename Use>
void for_each_line(const TextFile& file, bool labels, const Use& use) {
  Lines lines = file.lines();
  for (std::string_view all; lines.next(all);) {
    if (!all.empty() && all.back() == '\r') all.remove_suffix(1);
    if (all.empty()) continue;
    if (!labels) {
      use(Line{lines.offset(), {}, all});
      continue;
    }
    const size_t tab = all.find('\t');
    TW_REQUIRE(tab != std::string_view::npos && tab > 0, file.name(), ": line ", lines.number(),
               ": expected a class, a tab and text, got '", all.substr(0, 100), "'");
    use(Line{lines.offset(), all.substr(0, tab), all.substr(tab + 1)});
  }
}

}  // namespace

class TextLines::Impl {
 public:
  Impl(std::unique_ptr<const TextFile> file, Vocabulary vocabulary, const TextLinesOptions& options)
      : file_(std::move(file)),
        text_{std::move(vocabulary), options.tokenize, options.shape},
        has_labels_(options.labels) {
    TW_REQUIRE(options.shape.length > 0, file_->name(), ": sequences of length ", options.shape.length);
    std::vector<std::string> names;
    for_each_line(*file_, options.labels, [&](const Line& line) {
      places_.push_back({line.text_offset(), static_cast<int64_t>(line.text.size())});
      if (options.labels) names.emplace_back(line.label);
    });
    labels_ = number_classes(file_->name(), names);
  }

  int64_t size() const { return static_cast<int64_t>(places_.size()); }
  const TextPreprocessing& text() const { return text_; }
  bool has_labels() const { return has_labels_; }
  const Labels& labels() const { return labels_; }

  void read_line(int64_t index, int64_t* out) const {
    TW_REQUIRE(index >= 0 && index < size(), file_->name(), ": ", size(), " lines, none has the number ", index);
    const Place place = places_[static_cast<size_t>(index)];
    thread_local std::string text;
    text.resize(static_cast<size_t>(place.length));
    TW_REQUIRE(file_->read(place.offset, text.data(), text.size()), file_->name(), ": changed or failed while line ",
               index, " was read");
    text_.encode(text, out);
  }

 private:
  struct Place {
    int64_t offset, length;
  };
  const std::unique_ptr<const TextFile> file_;
  const TextPreprocessing text_;
  const bool has_labels_;
  std::vector<Place> places_;
  Labels labels_;
};

TextLines::TextLines(const std::string& path, Vocabulary vocabulary, const TextLinesOptions& options)
    : impl_(std::make_shared<Impl>(std::make_unique<TextFile>(path), std::move(vocabulary), options)) {}
TextLines::TextLines(const Files& files, const std::string& path, Vocabulary vocabulary,
                     const TextLinesOptions& options)
    : impl_(std::make_shared<Impl>(std::make_unique<TextFile>(files, path), std::move(vocabulary), options)) {}
TextLines::~TextLines() = default;
int64_t TextLines::size() const { return impl_->size(); }
std::vector<TensorType> TextLines::input_types() const { return {{DType::kI64, {kFree, impl_->text().shape.length}}}; }
std::vector<TensorType> TextLines::target_types() const {
  if (!impl_->has_labels()) return {};
  return {{DType::kI64, {kFree}}};
}
void TextLines::read(std::span<const int64_t> indices, const Draw& /*draw*/, const Batch& batch, int64_t row) const {
  const std::shared_ptr<Impl> impl = impl_;
  for (const int64_t index : indices) {
    impl->read_line(index, batch.inputs[0].data<int64_t>() + row * impl->text().shape.length);
    if (impl->has_labels()) {
      batch.targets[0].data<int64_t>()[row] = impl->labels().labels[static_cast<size_t>(index)];
    }
    ++row;
  }
}
const std::vector<std::string>& TextLines::classes() const { return impl_->labels().classes; }
const TextPreprocessing& TextLines::preprocessing() const { return impl_->text(); }

namespace {

std::map<std::string, int64_t> count_in(const TextFile& file, const TextLinesOptions& options) {
  std::map<std::string, int64_t> counts;
  for_each_line(file, options.labels, [&](const Line& line) {
    for (const std::string& token : tokenize(line.text, options.tokenize)) ++counts[token];
  });
  return counts;
}

}  // namespace

std::map<std::string, int64_t> count_tokens(const std::string& path, const TextLinesOptions& options) {
  return count_in(TextFile(path), options);
}

std::map<std::string, int64_t> count_tokens(const Files& files, const std::string& path,
                                            const TextLinesOptions& options) {
  return count_in(TextFile(files, path), options);
}

namespace {

void read_lines_in(const TextFile& file, const std::function<void(std::string_view)>& use) {
  for_each_line(file, false, [&](const Line& line) { use(line.text); });
}

}  // namespace

void read_lines(const std::string& path, const std::function<void(std::string_view line)>& use) {
  read_lines_in(TextFile(path), use);
}

void read_lines(const Files& files, const std::string& path, const std::function<void(std::string_view line)>& use) {
  read_lines_in(TextFile(files, path), use);
}

}  // namespace thalweg::data
