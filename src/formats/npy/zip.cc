// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Numbers and layouts are those of PKWARE's APPNOTE.TXT.
#include "formats/npy/zip.h"

#include <zlib.h>

#include <cstring>
#include <limits>

#include "base/text.h"
#include "thalweg/error.h"

namespace thalweg::npy {
namespace {

constexpr uint32_t kLocal = 0x04034b50;
constexpr uint32_t kCentral = 0x02014b50;
constexpr uint32_t kEnd = 0x06054b50;
constexpr uint32_t kEnd64 = 0x06064b50;
constexpr uint32_t kLocator64 = 0x07064b50;
constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocator64Bytes = 20;
constexpr uint32_t kElsewhere = 0xffffffff;  // the value is in a zip64 field
constexpr uint16_t kStored = 0, kDeflated = 8;
constexpr uint16_t kUtf8Names = 1 << 11;

template <typename T>
T number(std::string_view bytes, size_t at) {
  T value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <typename T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// What a directory entry says of a member.
struct Entry {
  ZipMember member;
  uint16_t method = 0;
  uint16_t flags = 0;
  uint64_t stored_size = 0;
  uint64_t local_offset = 0;
};

class ZipReader {
 public:
  ZipReader(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  std::vector<ZipMember> list() {
    find_directory();
    std::vector<ZipMember> members;
    uint64_t total = 0;
    for (uint64_t i = 0; i < entries_; ++i) {
      Entry entry = next_entry();
      locate(entry);
      // Members that share bytes could unpack to any multiple of the file's size.
      total += entry.stored_size;
      if (total > bytes_.size()) fail("members overlap each other");
      members.push_back(std::move(entry.member));
    }
    return members;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const { raise(where_, ": ", problem); }

  /// `count` bytes at `offset`, which must exist.
  std::string_view piece(uint64_t offset, uint64_t count, const char* what) const {
    if (offset > bytes_.size() || count > bytes_.size() - offset) fail(std::string(what) + " lies outside of the file");
    return bytes_.substr(offset, count);
  }

  void find_directory() {
    constexpr size_t kLongestComment = 0xffff;
    if (bytes_.size() < kEndBytes) fail("is no zip archive");
    const size_t last = bytes_.size() - kEndBytes;
    const size_t first = last > kLongestComment ? last - kLongestComment : 0;
    for (size_t at = last + 1; at-- > first;) {
      if (number<uint32_t>(bytes_, at) != kEnd) continue;
      entries_ = number<uint16_t>(bytes_, at + 10);
      at_ = number<uint32_t>(bytes_, at + 16);
      if (entries_ == 0xffff || at_ == kElsewhere) find_directory64(at);
      // Each entry has a size, so their number cannot claim more than the file holds.
      if (entries_ > bytes_.size() / kCentralBytes) fail("claims " + std::to_string(entries_) + " members");
      return;
    }
    fail("is no zip archive, or was cut short");
  }

  void find_directory64(size_t end) {
    if (end < kLocator64Bytes || number<uint32_t>(bytes_, end - kLocator64Bytes) != kLocator64) return;
    const auto offset = number<uint64_t>(bytes_, end - kLocator64Bytes + 8);
    const std::string_view record = piece(offset, kEnd64Bytes, "the directory's end");
    if (number<uint32_t>(record, 0) != kEnd64) fail("has no directory where it should be");
    entries_ = number<uint64_t>(record, 32);
    at_ = number<uint64_t>(record, 48);
  }

  Entry next_entry() {
    const std::string_view fixed = piece(at_, kCentralBytes, "the directory");
    if (number<uint32_t>(fixed, 0) != kCentral) fail("the directory is damaged");
    Entry entry;
    entry.flags = number<uint16_t>(fixed, 8);
    entry.method = number<uint16_t>(fixed, 10);
    entry.member.checksum = number<uint32_t>(fixed, 16);
    entry.stored_size = number<uint32_t>(fixed, 20);
    entry.member.size = number<uint32_t>(fixed, 24);
    entry.local_offset = number<uint32_t>(fixed, 42);
    const auto name_bytes = number<uint16_t>(fixed, 28);
    const auto extra_bytes = number<uint16_t>(fixed, 30);
    const auto comment_bytes = number<uint16_t>(fixed, 32);
    entry.member.name = piece(at_ + kCentralBytes, name_bytes, "the directory");
    read_extra(piece(at_ + kCentralBytes + name_bytes, extra_bytes, "the directory"), entry);
    at_ += kCentralBytes + uint64_t{name_bytes} + extra_bytes + comment_bytes;
    return entry;
  }

  /// Sizes that need more than 32 bits, in the order in which the short fields lack them.
  void read_extra(std::string_view extra, Entry& entry) const {
    constexpr uint16_t kZip64 = 1;
    while (extra.size() >= 4) {
      const auto id = number<uint16_t>(extra, 0);
      const auto size = number<uint16_t>(extra, 2);
      if (size > extra.size() - 4) fail("the directory is damaged");
      std::string_view content = extra.substr(4, size);
      extra.remove_prefix(4 + size_t{size});
      if (id != kZip64) continue;
      for (uint64_t* value : {&entry.member.size, &entry.stored_size, &entry.local_offset}) {
        if (*value != kElsewhere) continue;
        if (content.size() < 8) fail("the directory is damaged");
        *value = number<uint64_t>(content, 0);
        content.remove_prefix(8);
      }
    }
  }

  void locate(Entry& entry) const {
    constexpr uint16_t kEncrypted = 1;
    constexpr uint64_t kMostPerByte = 1032;  // deflate's highest ratio
    const std::string name = printable(entry.member.name);
    if ((entry.flags & kEncrypted) != 0) fail("member " + name + " is encrypted");
    if (entry.method != kStored && entry.method != kDeflated) {
      fail("member " + name + " is packed by method " + std::to_string(entry.method) + ", which is not supported");
    }
    const std::string_view local = piece(entry.local_offset, kLocalBytes, "a member");
    if (number<uint32_t>(local, 0) != kLocal) fail("member " + name + " is not where the directory says");
    const uint64_t begin = entry.local_offset + kLocalBytes + number<uint16_t>(local, 26) + number<uint16_t>(local, 28);
    entry.member.stored = piece(begin, entry.stored_size, "a member");
    entry.member.deflated = entry.method == kDeflated;
    const bool fits = entry.member.deflated ? entry.member.size / kMostPerByte <= entry.stored_size
                                            : entry.member.size == entry.stored_size;
    if (!fits) fail("member " + name + " claims " + std::to_string(entry.member.size) + " bytes");
  }

  std::string_view bytes_;
  const std::string& where_;
  uint64_t at_ = 0;
  uint64_t entries_ = 0;
};

uint32_t checksum_of(std::string_view bytes, uint32_t before = 0) {
  return static_cast<uint32_t>(
      ::crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<z_size_t>(bytes.size())));
}

}  // namespace

std::vector<ZipMember> list_zip(std::string_view bytes, const std::string& where) {
  return ZipReader(bytes, where).list();
}

void check_member(const ZipMember& member, std::string_view content, const std::string& where) {
  TW_REQUIRE(content.size() == member.size && checksum_of(content) == member.checksum, where, ": member ",
             printable(member.name), " is damaged: its checksum differs");
}

std::string inflate_member(const ZipMember& member, const std::string& where) {
  constexpr uint64_t kPiece = 1U << 30;  // zlib counts in 32 bits
  std::string content(member.size, '\0');
  z_stream stream{};
  TW_REQUIRE(::inflateInit2(&stream, -MAX_WBITS) == Z_OK, where, ": zlib does not start");
  std::string_view in = member.stored;
  size_t filled = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    const auto given = static_cast<uInt>(std::min<uint64_t>(in.size(), kPiece));
    const auto room = static_cast<uInt>(std::min<uint64_t>(content.size() - filled, kPiece));
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream.avail_in = given;
    stream.next_out = reinterpret_cast<Bytef*>(content.data()) + filled;
    stream.avail_out = room;
    status = ::inflate(&stream, Z_NO_FLUSH);
    in.remove_prefix(given - stream.avail_in);
    filled += room - stream.avail_out;
    if (given == stream.avail_in && room == stream.avail_out) break;  // no progress: cut short, or more than it claims
  }
  ::inflateEnd(&stream);
  TW_REQUIRE(status == Z_STREAM_END && filled == content.size(), where, ": member ", printable(member.name),
             " is damaged: it does not unpack to the ", content.size(), " bytes that it claims");
  return content;
}

void ZipWriter::write(std::string_view bytes) {
  file_.write(bytes.data(), bytes.size());
  written_ += bytes.size();
}

void ZipWriter::add(const std::string& name, std::string_view head, std::string_view body) {
  const uint64_t size = head.size() + body.size();
  TW_REQUIRE(size < kElsewhere && written_ < kElsewhere, path_, ": an archive of arrays must be smaller than 4 GiB; ",
             printable(name), " does not fit");
  TW_REQUIRE(members_ < std::numeric_limits<uint16_t>::max() && name.size() <= 0xffff, path_, ": too many members");
  constexpr uint16_t kVersion = 20;
  constexpr uint32_t kNoTime = 0x00210000;  // 1980-01-01, the earliest there is
  const uint32_t checksum = checksum_of(body, checksum_of(head));
  std::string common;  // what the local header and the directory share
  append<uint16_t>(common, kVersion);
  append<uint16_t>(common, kUtf8Names);
  append<uint16_t>(common, kStored);
  append<uint32_t>(common, kNoTime);
  append<uint32_t>(common, checksum);
  append<uint32_t>(common, static_cast<uint32_t>(size));
  append<uint32_t>(common, static_cast<uint32_t>(size));
  append<uint16_t>(common, static_cast<uint16_t>(name.size()));
  append<uint16_t>(common, 0);
  append<uint32_t>(directory_, kCentral);
  append<uint16_t>(directory_, kVersion);
  directory_ += common;
  directory_.append(10, '\0');  // no comment, first disk, no attributes
  append<uint32_t>(directory_, static_cast<uint32_t>(written_));
  directory_ += name;
  std::string local;
  append<uint32_t>(local, kLocal);
  write(local + common + name);
  write(head);
  write(body);
  ++members_;
}

void ZipWriter::finish() {
  TW_REQUIRE(written_ < kElsewhere, path_, ": an archive of arrays must be smaller than 4 GiB");
  std::string end;
  append<uint32_t>(end, kEnd);
  append<uint32_t>(end, 0);
  append<uint16_t>(end, members_);
  append<uint16_t>(end, members_);
  append<uint32_t>(end, static_cast<uint32_t>(directory_.size()));
  append<uint32_t>(end, static_cast<uint32_t>(written_));
  append<uint16_t>(end, 0);
  write(directory_);
  write(end);
  file_.commit();
}

}  // namespace thalweg::npy
