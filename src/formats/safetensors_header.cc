// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/safetensors_header.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "formats/safetensors_json.h"

namespace thalweg::formats {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian");

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kMaxHeader = 100'000'000;  // the limit of the reference implementation
constexpr size_t kDataAlignment = 64;

struct TypeRow {
  const char* name;
  unsigned bits;
  std::optional<DType> dtype;
};

const TypeRow kTypes[] = {
    {"F32", 32, DType::kF32},         {"F64", 64, DType::kF64},     {"BF16", 16, DType::kBF16},
    {"F16", 16, DType::kF16},         {"I8", 8, DType::kI8},        {"U8", 8, DType::kU8},
    {"I32", 32, DType::kI32},         {"I64", 64, DType::kI64},     {"BOOL", 8, DType::kBool},
    {"I16", 16, DType::kI16},         {"U16", 16, DType::kU16},     {"U32", 32, DType::kU32},
    {"U64", 64, DType::kU64},         {"F8_E4M3", 8, std::nullopt}, {"F8_E5M2", 8, std::nullopt},
    {"F8_E8M0", 8, std::nullopt},     {"F6_E2M3", 6, std::nullopt}, {"F6_E3M2", 6, std::nullopt},
    {"F4", 4, std::nullopt},          {"C64", 64, std::nullopt},    {"F8_E4M3FNUZ", 8, std::nullopt},
    {"F8_E5M2FNUZ", 8, std::nullopt},
};

const TypeRow* find_type(const std::string& name) {
  const auto* row =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeRow& type) { return name == type.name; });
  return row == std::end(kTypes) ? nullptr : row;
}

const char* safetensors_name(DType dtype) {
  const auto* row =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeRow& type) { return type.dtype == dtype; });
  return row->name;
}

/// Bytes of the values, or nothing if the product overflows or is not a whole number of bytes. Zeros are left out at
/// first, so that the product of the others is checked as well.
std::optional<uint64_t> byte_size(const Shape& shape, unsigned bits) {
  int64_t product = 1;
  bool empty = false;
  for (const int64_t extent : shape) {
    if (extent == 0) empty = true;
    if (extent != 0 && __builtin_mul_overflow(product, extent, &product)) return std::nullopt;
  }
  int64_t total_bits = 0;
  if (__builtin_mul_overflow(product, static_cast<int64_t>(bits), &total_bits)) return std::nullopt;
  if (empty) return 0;
  if (total_bits % 8 != 0) return std::nullopt;
  return static_cast<uint64_t>(total_bits) / 8;
}

class Checker {
 public:
  Checker(const std::string& path, uint64_t data_size) : path_(path), data_size_(data_size) {}

  SafetensorsEntry check(const JsonEntry& json) const {
    const TypeRow* type = find_type(json.dtype);
    TW_REQUIRE(type != nullptr, where(json.name), "unknown element type ", printable(json.dtype));
    const Shape shape(json.shape);
    TW_REQUIRE(json.begin <= json.end && json.end <= data_size_, where(json.name), "bytes ", json.begin, " to ",
               json.end, " lie outside of the ", data_size_, " bytes of data in the file");
    const std::optional<uint64_t> needed = byte_size(shape, type->bits);
    TW_REQUIRE(needed == json.end - json.begin, where(json.name), "shape ", shape, " of ", json.dtype, " does not fit ",
               json.end - json.begin, " bytes");
    return {json.name, json.dtype, type->dtype, shape, json.begin, json.end};
  }

  /// The format allows neither overlaps nor holes.
  void check_cover(const std::vector<SafetensorsEntry>& entries) const {
    uint64_t covered = 0;
    for (const SafetensorsEntry& entry : entries) {
      TW_REQUIRE(entry.begin >= covered, where(entry.name), "its data at byte ", entry.begin,
                 " overlaps another tensor, which ends at byte ", covered);
      TW_REQUIRE(entry.begin == covered, where(entry.name), "bytes ", covered, " to ", entry.begin,
                 " before it belong to no tensor");
      covered = entry.end;
    }
    TW_REQUIRE(covered == data_size_, "safetensors file ", path_, ": its tensors have ", covered,
               " bytes, but it holds ", data_size_, " bytes of data");
  }

 private:
  std::string where(const std::string& name) const {
    return "safetensors file " + path_ + ": tensor " + printable(name) + ": ";
  }

  const std::string& path_;
  uint64_t data_size_;
};

void require_text(const std::string& text, const char* what, const std::string& path) {
  try {
    static_cast<void>(nlohmann::json(text).dump());
  } catch (const nlohmann::json::exception&) {
    raise("safetensors file ", path, ": ", what, " ", printable(text), " is not UTF-8");
  }
}

}  // namespace

SafetensorsHeader parse_safetensors(std::span<const std::byte> file, const std::string& path) {
  TW_REQUIRE(file.size() >= kLengthBytes, "safetensors file ", path, " has only ", file.size(), " bytes");
  uint64_t length = 0;
  std::memcpy(&length, file.data(), kLengthBytes);
  TW_REQUIRE(length <= kMaxHeader, "safetensors file ", path, ": a header of ", length,
             " bytes is too long; is this a safetensors file?");
  TW_REQUIRE(length <= file.size() - kLengthBytes, "safetensors file ", path, " is truncated: it has ", file.size(),
             " bytes, its header alone needs ", kLengthBytes + length);
  const char* text = reinterpret_cast<const char*>(file.data()) + kLengthBytes;
  JsonHeader json = parse_header_json({text, static_cast<size_t>(length)}, path);

  SafetensorsHeader header;
  header.metadata = std::move(json.metadata);
  header.data_start = kLengthBytes + length;
  const Checker checker(path, file.size() - header.data_start);
  for (const JsonEntry& entry : json.entries) header.entries.push_back(checker.check(entry));
  std::stable_sort(header.entries.begin(), header.entries.end(),
                   [](const auto& a, const auto& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  checker.check_cover(header.entries);
  return header;
}

std::string safetensors_preamble(const std::vector<const NamedTensor*>& tensors,
                                 const std::map<std::string, std::string>& metadata, const std::string& path) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [key, value] : metadata) {
    require_text(key, "metadata key", path);
    require_text(value, "metadata value", path);
  }
  if (!metadata.empty()) json[kMetadataKey] = metadata;
  std::set<std::string> seen = {kMetadataKey};
  uint64_t offset = 0;
  for (const NamedTensor* item : tensors) {
    const auto& [name, tensor] = *item;
    require_text(name, "tensor name", path);
    TW_REQUIRE(tensor.defined(), "safetensors file ", path, ": tensor ", printable(name), " has no values");
    TW_REQUIRE(seen.insert(name).second, "safetensors file ", path, ": the name ", printable(name),
               name == kMetadataKey ? " is reserved" : " comes twice");
    const uint64_t end = offset + tensor.num_bytes();
    // Straight to the back: finding a key in an ordered object is linear.
    json.get_ref<nlohmann::ordered_json::object_t&>().emplace_back(
        name, nlohmann::ordered_json{{"dtype", safetensors_name(tensor.dtype())},
                                     {"shape", tensor.shape().dims()},
                                     {"data_offsets", {offset, end}}});
    offset = end;
  }
  std::string text = json.dump();
  const size_t unaligned = (kLengthBytes + text.size()) % kDataAlignment;
  if (unaligned != 0) text.append(kDataAlignment - unaligned, ' ');
  const auto length = static_cast<uint64_t>(text.size());
  TW_REQUIRE(length <= kMaxHeader, "safetensors file ", path, ": a header of ", length,
             " bytes is longer than readers accept");
  std::string preamble(kLengthBytes, '\0');
  std::memcpy(preamble.data(), &length, kLengthBytes);
  return preamble + text;
}

}  // namespace thalweg::formats
