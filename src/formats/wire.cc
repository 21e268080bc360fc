// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/wire.h"

#include <cstring>

#include "thalweg/error.h"

namespace thalweg::formats {

void WireReader::fail(const std::string& problem) const { raise(*where_, ": ", problem, " at byte ", offset_ + at_); }

uint64_t WireReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (at_ == bytes_.size()) fail("truncated");
    const auto byte = static_cast<uint8_t>(bytes_[at_++]);
    if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  fail("a number is longer than the format allows");
}

std::string_view WireReader::take(uint64_t count) {
  if (count > bytes_.size() - at_) fail("truncated: " + std::to_string(count) + " bytes are announced");
  const std::string_view part = bytes_.substr(at_, count);
  at_ += count;
  return part;
}

void WireReader::skip() {
  pending_ = false;
  switch (encoding_) {
    case kVarint: varint(); return;
    case kFixed64: take(8); return;
    case kLength: take(varint()); return;
    case kFixed32: take(4); return;
    default: fail("this is no protocol buffer: unknown encoding " + std::to_string(encoding_));
  }
}

bool WireReader::next() {
  if (pending_) skip();
  if (at_ == bytes_.size()) return false;
  const uint64_t tag = varint();
  if (tag >> 32 != 0 || tag >> 3 == 0) fail("this is no protocol buffer: bad field number");
  field_ = static_cast<uint32_t>(tag >> 3);
  encoding_ = static_cast<uint8_t>(tag & 7);
  pending_ = true;
  return true;
}

void WireReader::require(Encoding encoding) {
  if (encoding_ != encoding)
    fail("field " + std::to_string(field_) +
         " has another encoding than the format gives it: is this a file of that kind?");
  pending_ = false;
}

uint64_t WireReader::varint_field() {
  require(kVarint);
  return varint();
}

float WireReader::single() {
  require(kFixed32);
  float value = 0;
  std::memcpy(&value, take(sizeof value).data(), sizeof value);
  return value;
}

std::string_view WireReader::bytes() {
  require(kLength);
  return take(varint());
}

WireReader WireReader::message() {
  const std::string_view content = bytes();
  return {content, *where_, offset_ + at_ - content.size()};
}

void WireReader::append(std::vector<int64_t>& into) {
  if (encoding_ == kVarint) {
    into.push_back(integer());
    return;
  }
  WireReader packed = message();
  while (packed.at_ < packed.bytes_.size()) into.push_back(static_cast<int64_t>(packed.varint()));
}

template <typename T>
void WireReader::append_fixed(std::vector<T>& into, Encoding single_encoding) {
  std::string_view content;
  if (encoding_ == single_encoding) {
    require(single_encoding);
    content = take(sizeof(T));
  } else {
    content = bytes();
  }
  if (content.size() % sizeof(T) != 0) fail("packed numbers end in the middle of one");
  const size_t before = into.size();
  into.resize(before + content.size() / sizeof(T));
  if (!content.empty()) std::memcpy(into.data() + before, content.data(), content.size());
}
template void WireReader::append_fixed(std::vector<float>&, Encoding);
template void WireReader::append_fixed(std::vector<double>&, Encoding);

void WireWriter::raw(std::string_view value) {
  if (pieces_.empty() || !std::holds_alternative<std::string>(pieces_.back())) pieces_.emplace_back(std::string());
  std::get<std::string>(pieces_.back()).append(value);
  size_ += value.size();
}

void WireWriter::varint(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text.push_back(static_cast<char>(value | 0x80));
  text.push_back(static_cast<char>(value));
  raw(text);
}

void WireWriter::tag(uint32_t field, uint8_t encoding) { varint(uint64_t{field} << 3 | encoding); }

void WireWriter::integer(uint32_t field, int64_t value) {
  tag(field, 0);
  varint(static_cast<uint64_t>(value));
}

void WireWriter::single(uint32_t field, float value) {
  tag(field, 5);
  raw({reinterpret_cast<const char*>(&value), sizeof value});
}

void WireWriter::bytes(uint32_t field, std::string_view value) {
  tag(field, 2);
  varint(value.size());
  raw(value);
}

void WireWriter::borrowed(uint32_t field, std::string_view value) {
  tag(field, 2);
  varint(value.size());
  pieces_.emplace_back(value);
  size_ += value.size();
}

void WireWriter::message(uint32_t field, WireWriter message) {
  tag(field, 2);
  varint(message.size_);
  for (Piece& piece : message.pieces_) {
    if (const auto* text = std::get_if<std::string>(&piece)) {
      raw(*text);
    } else {
      size_ += std::get<std::string_view>(piece).size();
      pieces_.push_back(std::move(piece));
    }
  }
}

void WireWriter::packed(uint32_t field, const std::vector<int64_t>& values) {
  WireWriter content;
  for (const int64_t value : values) content.varint(static_cast<uint64_t>(value));
  message(field, std::move(content));
}

void WireWriter::packed(uint32_t field, const std::vector<float>& values) {
  bytes(field, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

void WireWriter::packed(uint32_t field, const std::vector<double>& values) {
  bytes(field, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)});
}

}  // namespace thalweg::formats
