// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/text.h"
#include "formats/npy/array.h"

namespace thalweg::npy {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kAlignment = 64;
/// NumPy writes some hundred bytes.
constexpr size_t kMaxHeader = size_t{1} << 20;

struct TypeRow {
  const char* code;
  DType dtype;
};
/// NumPy's kind and size; the sign of the byte order stands before them.
constexpr TypeRow kTypes[] = {{"f4", DType::kF32}, {"f8", DType::kF64}, {"f2", DType::kF16}, {"i1", DType::kI8},
                              {"u1", DType::kU8},  {"i2", DType::kI16}, {"u2", DType::kU16}, {"i4", DType::kI32},
                              {"u4", DType::kU32}, {"i8", DType::kI64}, {"u8", DType::kU64}, {"b1", DType::kBool}};

/// Reads the header's text, a Python dictionary of text, truth values and tuples of numbers.
class HeaderText {
 public:
  HeaderText(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  Header parse() {
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      read_value(key);
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (at_ != text_.size()) fail("goes on after the dictionary");
    if (!has_descr_ || !has_order_ || !has_shape_) fail("lacks 'descr', 'fortran_order' or 'shape'");
    return std::move(header_);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const { raise(where_, ": the header ", problem); }

  void read_value(const std::string& key) {
    if (key == "descr") {
      read_descr();
      has_descr_ = true;
    } else if (key == "fortran_order") {
      header_.fortran_order = truth();
      has_order_ = true;
    } else if (key == "shape") {
      header_.shape = shape();
      has_shape_ = true;
    } else {
      fail("has the unknown key " + printable(key));
    }
  }

  void read_descr() {
    skip_blanks();
    if (at_ < text_.size() && text_[at_] == '[') fail("describes records, which are not supported");
    const std::string descr = quoted();
    const auto* row = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeRow& type) {
      return descr.size() == 3 && descr.compare(1, 2, type.code) == 0;
    });
    const bool known_order = !descr.empty() && std::strchr("<>|=", descr[0]) != nullptr;
    if (row == std::end(kTypes) || !known_order) {
      fail("says that elements are " + printable(descr) + ", which is not supported");
    }
    header_.dtype = row->dtype;
    header_.big_endian = descr[0] == '>' && size_of(row->dtype) > 1;
  }

  Shape shape() {
    std::vector<int64_t> dims;
    expect('(');
    while (!accept(')')) {
      dims.push_back(number());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    constexpr size_t kMaxRank = 64;  // NumPy's
    if (dims.size() > kMaxRank) fail("has " + std::to_string(dims.size()) + " dimensions");
    return Shape(std::move(dims));
  }

  int64_t number() {
    skip_blanks();
    int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, failure] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (failure != std::errc() || value < 0) fail("has a dimension that is no size");
    at_ += static_cast<size_t>(end - begin);
    return value;
  }

  bool truth() {
    skip_blanks();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return value;
    }
    fail("has neither True nor False for 'fortran_order'");
  }

  std::string quoted() {
    skip_blanks();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    const size_t end = quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos) fail("has no text in quotes at byte " + std::to_string(at_));
    const std::string result(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return result;
  }

  bool accept(char wanted) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) fail("has no '" + std::string(1, wanted) + "' at byte " + std::to_string(at_));
  }
  void skip_blanks() {
    while (at_ < text_.size() && std::strchr(" \t\n\r", text_[at_]) != nullptr && text_[at_] != '\0') ++at_;
  }

  std::string_view text_;
  const std::string& where_;
  size_t at_ = 0;
  Header header_;
  bool has_descr_ = false, has_order_ = false, has_shape_ = false;
};

/// Bytes of the values; nothing if there are more than any machine has. A size of 0 hides no other.
std::optional<size_t> byte_count(const Shape& shape, DType dtype) {
  auto product = static_cast<int64_t>(size_of(dtype));
  bool empty = false;
  for (const int64_t dim : shape) {
    empty = empty || dim == 0;
    if (dim != 0 && __builtin_mul_overflow(product, dim, &product)) return std::nullopt;
  }
  return empty ? 0 : static_cast<size_t>(product);
}

}  // namespace

Header parse_header(std::string_view bytes, const std::string& where) {
  TW_REQUIRE(bytes.size() >= 10 && bytes.substr(0, kMagic.size()) == kMagic, where, ": is no .npy array");
  const int version = bytes[6];
  TW_REQUIRE(version >= 1 && version <= 3, where, ": .npy version ", version, " is not known");
  // Two bytes of length in version 1, four afterwards.
  const size_t length_bytes = version == 1 ? 2 : 4;
  const size_t begin = 8 + length_bytes;
  uint32_t length = 0;
  TW_REQUIRE(bytes.size() >= begin, where, ": ends within its header");
  std::memcpy(&length, bytes.data() + 8, length_bytes);
  TW_REQUIRE(length <= kMaxHeader && length <= bytes.size() - begin, where, ": the header claims ", length, " bytes");
  Header header = HeaderText(bytes.substr(begin, length), where).parse();
  header.data_offset = begin + length;
  const std::optional<size_t> expected = byte_count(header.shape, header.dtype);
  TW_REQUIRE(expected.has_value() && *expected == bytes.size() - header.data_offset, where, ": an array ",
             header.shape.to_string(), " of ", name_of(header.dtype), " does not take the ",
             bytes.size() - header.data_offset, " bytes that are there");
  return header;
}

std::string header_of(DType dtype, const Shape& shape) {
  const auto* row =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeRow& type) { return type.dtype == dtype; });
  TW_REQUIRE(row != std::end(kTypes), "NumPy has no element type ", name_of(dtype));
  std::string text = "{'descr': '" + std::string(size_of(dtype) == 1 ? "|" : "<") + row->code +
                     "', 'fortran_order': False, 'shape': (";
  for (const int64_t dim : shape) text += std::to_string(dim) + ", ";
  // A tuple of one needs its comma, longer ones do not.
  if (shape.rank() > 1) text.erase(text.size() - 2);
  if (shape.rank() == 1) text.erase(text.size() - 1);
  text += "), }";
  constexpr size_t kPrefix = 10;
  const size_t whole = (kPrefix + text.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  text.resize(whole - kPrefix - 1, ' ');
  text += '\n';
  const auto length = static_cast<uint16_t>(text.size());
  std::string bytes(kMagic);
  bytes += std::string("\x01\x00", 2);
  bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
  return bytes + text;
}

}  // namespace thalweg::npy
