// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/atomic_file.h"

/// As much of the zip format as NumPy's archives need: members that are stored or deflated, zip64 sizes.
namespace thalweg::npy {

struct ZipMember {
  std::string name;
  bool deflated = false;
  uint32_t checksum = 0;
  uint64_t size = 0;
  /// As it lies in the archive.
  std::string_view stored;
};

/// All members, by the directory at the end of the archive. Whatever the bytes are, a member lies within them, and the
/// size of a deflated one is no larger than its bytes can hold. `where` names the archive in errors.
std::vector<ZipMember> list_zip(std::string_view bytes, const std::string& where);

/// The content of a deflated member.
std::string inflate_member(const ZipMember& member, const std::string& where);
/// Throws if the content is not what was put into the archive.
void check_member(const ZipMember& member, std::string_view content, const std::string& where);

/// Writes an archive of stored members.
class ZipWriter {
 public:
  explicit ZipWriter(const std::string& path) : path_(path), file_(path) {}
  /// A member made of two pieces. Throws if it has 4 GiB or more.
  void add(const std::string& name, std::string_view head, std::string_view body);
  /// Writes the directory; the archive then takes the place of the file at the path.
  void finish();

 private:
  void write(std::string_view bytes);

  std::string path_;
  AtomicFile file_;
  uint64_t written_ = 0;
  std::string directory_;
  uint16_t members_ = 0;
};

}  // namespace thalweg::npy
