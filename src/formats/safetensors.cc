// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/safetensors.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <system_error>

#include "base/atomic_file.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "formats/safetensors_header.h"

namespace thalweg {
namespace {

using formats::SafetensorsEntry;

/// A byte other than 0 and 1 is no bool in C++.
void require_bools(const SafetensorsEntry& entry, const std::byte* values, const std::string& path) {
  if (entry.dtype != DType::kBool) return;
  const std::byte* end = values + (entry.end - entry.begin);
  const std::byte* bad = std::find_if(values, end, [](std::byte b) { return b > std::byte{1}; });
  TW_REQUIRE(bad == end, "safetensors file ", path, ": tensor ", printable(entry.name), ": element ", bad - values,
             " is neither true nor false");
}

}  // namespace

struct SafetensorsFile::State {
  explicit State(const std::string& file_path)
      : path(file_path),
        file(std::make_shared<MappedFile>(file_path)),
        header(formats::parse_safetensors({file->data(), file->size()}, file_path)) {
    for (size_t i = 0; i < header.entries.size(); ++i) index[header.entries[i].name] = i;
  }

  const SafetensorsEntry& entry(const std::string& name) const {
    const auto found = index.find(name);
    if (found != index.end()) return header.entries[found->second];
    std::vector<std::string> names;
    for (const auto& [known, position] : index) names.push_back(known);
    raise("safetensors file ", path, " has no tensor ", printable(name), "; nearest: ", nearest_names(name, names));
  }

  const SafetensorsEntry& readable_entry(const std::string& name) const {
    const SafetensorsEntry& found = entry(name);
    TW_REQUIRE(found.dtype.has_value(), "safetensors file ", path, ": tensor ", printable(name),
               " has elements of type ", found.dtype_name, ", which is not supported");
    return found;
  }

  std::string path;
  std::shared_ptr<MappedFile> file;
  formats::SafetensorsHeader header;
  std::map<std::string, size_t> index;
};

SafetensorsFile::SafetensorsFile(const std::string& path) : state_(std::make_shared<State>(path)) {}

const std::string& SafetensorsFile::path() const { return state_->path; }

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> result;
  for (const SafetensorsEntry& entry : state_->header.entries) result.push_back(entry.name);
  return result;
}

bool SafetensorsFile::contains(const std::string& name) const { return state_->index.count(name) > 0; }

TensorType SafetensorsFile::type(const std::string& name) const {
  const SafetensorsEntry& entry = state_->readable_entry(name);
  return {*entry.dtype, entry.shape};
}

const std::map<std::string, std::string>& SafetensorsFile::metadata() const { return state_->header.metadata; }

Tensor SafetensorsFile::tensor(const std::string& name) const {
  const SafetensorsEntry& entry = state_->readable_entry(name);
  std::byte* values = state_->file->data() + state_->header.data_start + entry.begin;
  require_bools(entry, values, state_->path);
  if (reinterpret_cast<uintptr_t>(values) % size_of(*entry.dtype) == 0) {
    return Tensor::borrow(*entry.dtype, entry.shape, values, state_->file);
  }
  Tensor copy(*entry.dtype, entry.shape);
  std::memcpy(copy.raw(), values, copy.num_bytes());
  return copy;
}

void SafetensorsFile::read(const std::string& name, std::span<std::byte> into) const {
  const SafetensorsEntry& entry = state_->readable_entry(name);
  TW_REQUIRE(into.size() == entry.end - entry.begin, "safetensors file ", path(), ": tensor ", printable(name), " has ",
             entry.end - entry.begin, " bytes, not ", into.size());
  auto offset = static_cast<off_t>(state_->header.data_start + entry.begin);
  std::span<std::byte> rest = into;
  while (!rest.empty()) {
    const ssize_t count = ::pread(state_->file->descriptor(), rest.data(), rest.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    TW_REQUIRE(count >= 0, "cannot read ", path(), " at byte ", offset, ": ", std::generic_category().message(errno));
    TW_REQUIRE(count > 0, "safetensors file ", path(), " was cut short to ", offset, " bytes while it was being read");
    offset += count;
    rest = rest.subspan(static_cast<size_t>(count));
  }
  require_bools(entry, into.data(), path());
}

Tensor SafetensorsFile::load(const std::string& name) const {
  Tensor result(type(name));
  read(name, {static_cast<std::byte*>(result.raw()), result.num_bytes()});
  return result;
}

void save_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  // Wide elements first, as the reference implementation does: then all are aligned to their own size.
  std::vector<const NamedTensor*> order;
  order.reserve(tensors.size());
  for (const NamedTensor& item : tensors) order.push_back(&item);
  std::stable_sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    return size_of(a->tensor.dtype()) > size_of(b->tensor.dtype());
  });
  const std::string preamble = formats::safetensors_preamble(order, metadata, path);
  AtomicFile file(path);
  file.write(preamble.data(), preamble.size());
  for (const NamedTensor* item : order) file.write(item->tensor.raw(), item->tensor.num_bytes());
  file.commit();
}

}  // namespace thalweg
