// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/text_lines.h"

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

/// Where the lines are: in a file of this machine, or, of one somewhere else, in memory.
class TextFile {
 public:
  explicit TextFile(const std::string& path) : name_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    TW_REQUIRE(descriptor_ >= 0, path, ": cannot read: ", std::strerror(errno));
  }
  TextFile(const Files& files, const std::string& path) : name_(files.name() + "/" + path) {
    files.read(path, bytes_, kMostBytes);
  }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  ~TextFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  const std::string& name() const { return name_; }

  /// Hands all of it to `use`, a stream.
  template <typename Use>
  void open(const Use& use) const {
    if (descriptor_ < 0) {
      InMemory buffer(bytes_);
      std::istream stream(&buffer);
      use(stream);
    } else {
      std::ifstream stream(name_, std::ios::binary);
      use(stream);
    }
  }

  /// False if there are not as many bytes at that place as `text` is long.
  bool read(int64_t offset, std::string& text) const {
    if (descriptor_ >= 0) {
      return ::pread(descriptor_, text.data(), text.size(), offset) == static_cast<ssize_t>(text.size());
    }
    std::memcpy(text.data(), bytes_.data() + offset, text.size());
    return true;
  }

 private:
  static constexpr int64_t kMostBytes = int64_t{16} << 30;

  struct InMemory : std::streambuf {
    explicit InMemory(const std::vector<uint8_t>& bytes) {
      char* begin = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));  // it is only read
      setg(begin, begin, begin + bytes.size());
    }
  };

  const std::string name_;
  std::vector<uint8_t> bytes_;
  int descriptor_ = -1;
};

/// Hands each line that counts to `use`. Throws Error naming the file and line without a label.
template <typename Use>
void for_each_line(std::istream& file, const std::string& path, bool labels, const Use& use) {
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
  Impl(std::unique_ptr<const TextFile> file, Vocabulary vocabulary, const TextLinesOptions& options)
      : file_(std::move(file)),
        text_{std::move(vocabulary), options.tokenize, options.shape},
        has_labels_(options.labels) {
    TW_REQUIRE(options.shape.length > 0, file_->name(), ": sequences of length ", options.shape.length);
    std::vector<std::string> names;
    file_->open([&](std::istream& stream) {
      for_each_line(stream, file_->name(), options.labels, [&](const Line& line) {
        places_.push_back({line.text_offset(), static_cast<int64_t>(line.text.size())});
        if (options.labels) names.emplace_back(line.label);
      });
    });
    labels_ = number_classes(names);
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
    TW_REQUIRE(file_->read(place.offset, text), file_->name(), ": changed or failed while line ", index, " was read");
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
    : impl_(std::make_unique<Impl>(std::make_unique<TextFile>(path), std::move(vocabulary), options)) {}
TextLines::TextLines(const Files& files, const std::string& path, Vocabulary vocabulary,
                     const TextLinesOptions& options)
    : impl_(std::make_unique<Impl>(std::make_unique<TextFile>(files, path), std::move(vocabulary), options)) {}
TextLines::~TextLines() = default;
int64_t TextLines::size() const { return impl_->size(); }
std::vector<TensorType> TextLines::input_types() const { return {{DType::kI64, {kFree, impl_->text().shape.length}}}; }
std::vector<TensorType> TextLines::target_types() const {
  if (!impl_->has_labels()) return {};
  return {{DType::kI64, {kFree}}};
}
void TextLines::read(std::span<const int64_t> indices, const Draw& /*draw*/, const Batch& batch, int64_t row) const {
  for (const int64_t index : indices) {
    impl_->read_line(index, batch.inputs[0].data<int64_t>() + row * impl_->text().shape.length);
    if (impl_->has_labels()) {
      batch.targets[0].data<int64_t>()[row] = impl_->labels().labels[static_cast<size_t>(index)];
    }
    ++row;
  }
}
const std::vector<std::string>& TextLines::classes() const { return impl_->labels().classes; }
const TextPreprocessing& TextLines::preprocessing() const { return impl_->text(); }

namespace {

std::map<std::string, int64_t> count_in(const TextFile& file, const TextLinesOptions& options) {
  std::map<std::string, int64_t> counts;
  file.open([&](std::istream& stream) {
    for_each_line(stream, file.name(), options.labels, [&](const Line& line) {
      for (const std::string& token : tokenize(line.text, options.tokenize)) ++counts[token];
    });
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
  file.open([&](std::istream& stream) {
    for_each_line(stream, file.name(), false, [&](const Line& line) { use(line.text); });
  });
}

}  // namespace

void read_lines(const std::string& path, const std::function<void(std::string_view line)>& use) {
  read_lines_in(TextFile(path), use);
}

void read_lines(const Files& files, const std::string& path, const std::function<void(std::string_view line)>& use) {
  read_lines_in(TextFile(files, path), use);
}

}  // namespace thalweg::data
