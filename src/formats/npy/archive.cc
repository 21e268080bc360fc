// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <set>

#include "base/mapped_file.h"
#include "base/text.h"
#include "formats/npy/array.h"
#include "formats/npy/zip.h"
#include "thalweg/npy.h"

namespace thalweg::npy {
namespace {

constexpr std::string_view kSuffix = ".npy";

std::string_view bytes_of(const Tensor& tensor) { return {static_cast<const char*>(tensor.raw()), tensor.num_bytes()}; }

}  // namespace

std::vector<NamedTensor> read_archive(const std::string& path) {
  const auto file = std::make_shared<MappedFile>(path);
  std::vector<NamedTensor> arrays;
  std::set<std::string> names;
  for (const ZipMember& member : list_zip(file->text(), path)) {
    const std::string where = path + ": array " + printable(member.name);
    std::string name = member.name;
    if (name.size() > kSuffix.size() && name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
    TW_REQUIRE(names.insert(name).second, path, ": two arrays are named ", printable(name));
    if (member.deflated) {
      const auto content = std::make_shared<std::string>(inflate_member(member, path));
      check_member(member, *content, path);
      arrays.push_back({name, parse_array(*content, where, content)});
    } else {
      check_member(member, member.stored, path);
      arrays.push_back({name, parse_array(member.stored, where, file)});
    }
  }
  return arrays;
}

void write_archive(const std::string& path, const std::vector<NamedTensor>& tensors) {
  ZipWriter archive(path);
  for (const NamedTensor& tensor : tensors) {
    const Tensor values = writable(tensor.tensor);
    archive.add(tensor.name + std::string(kSuffix), header_of(values.dtype(), values.shape()), bytes_of(values));
  }
  archive.finish();
}

}  // namespace thalweg::npy
