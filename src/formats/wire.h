// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// Protocol Buffers' wire format, as far as model files use it.
namespace thalweg::formats {

static_assert(std::endian::native == std::endian::little, "the wire format is little-endian");

/// Walks over the fields of one message. Whatever the bytes are, it reads nothing outside of them: what does not fit
/// throws an Error that begins with `where` and names the byte. `where` must outlive the reader.
class WireReader {
 public:
  /// `bytes` begins at byte `offset` of the file.
  WireReader(std::string_view bytes, const std::string& where, uint64_t offset = 0)
      : bytes_(bytes), where_(&where), offset_(offset) {}

  /// Goes to the next field, over the present one if nobody read it. False at the end of the message.
  bool next();
  uint32_t field() const { return field_; }

  // The content of the present field. Each throws if the field is encoded in another manner.
  int64_t integer() { return static_cast<int64_t>(varint_field()); }
  float single();
  std::string_view bytes();
  std::string text() { return std::string(bytes()); }
  WireReader message();
  // Repeated numbers: one, or many packed into one field.
  void append(std::vector<int64_t>& into);
  void append(std::vector<float>& into) { append_fixed(into, kFixed32); }
  void append(std::vector<double>& into) { append_fixed(into, kFixed64); }

  [[noreturn]] void fail(const std::string& problem) const;

 private:
  enum Encoding : uint8_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

  uint64_t varint();
  uint64_t varint_field();
  std::string_view take(uint64_t count);
  void skip();
  void require(Encoding encoding);
  template <typename T>
  void append_fixed(std::vector<T>& into, Encoding single_encoding);

  std::string_view bytes_;
  const std::string* where_;
  uint64_t offset_;
  size_t at_ = 0;
  uint32_t field_ = 0;
  uint8_t encoding_ = 0;
  bool pending_ = false;
};

/// Builds one message. Large contents are referred to, not copied: they must live until the message has been written.
class WireWriter {
 public:
  void integer(uint32_t field, int64_t value);
  void single(uint32_t field, float value);
  void bytes(uint32_t field, std::string_view value);
  /// As `bytes`, without a copy.
  void borrowed(uint32_t field, std::string_view value);
  void message(uint32_t field, WireWriter message);
  void packed(uint32_t field, const std::vector<int64_t>& values);
  void packed(uint32_t field, const std::vector<float>& values);
  void packed(uint32_t field, const std::vector<double>& values);

  uint64_t size() const { return size_; }
  /// Calls `sink(std::string_view)` with the bytes, piece by piece.
  template <typename Sink>
  void emit(Sink&& sink) const {
    for (const Piece& piece : pieces_) std::visit([&](const auto& content) { sink(std::string_view(content)); }, piece);
  }

 private:
  using Piece = std::variant<std::string, std::string_view>;
  void tag(uint32_t field, uint8_t encoding);
  void varint(uint64_t value);
  void raw(std::string_view value);

  std::vector<Piece> pieces_;
  uint64_t size_ = 0;
};

}  // namespace thalweg::formats
