// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/tensor_data.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/text.h"
#include "tensor/dtype.h"
#include "thalweg/stored_types.h"

namespace thalweg::onnx {
namespace {

struct TypeRow {
  DataType onnx;
  const char* name;
  std::optional<DType> dtype;
};

const TypeRow kTypes[] = {
    {DataType::kFloat, "FLOAT", DType::kF32},
    {DataType::kUint8, "UINT8", DType::kU8},
    {DataType::kInt8, "INT8", DType::kI8},
    {DataType::kUint16, "UINT16", DType::kU16},
    {DataType::kInt16, "INT16", DType::kI16},
    {DataType::kInt32, "INT32", DType::kI32},
    {DataType::kInt64, "INT64", DType::kI64},
    {DataType::kString, "STRING", stored::kText},
    {DataType::kBool, "BOOL", DType::kBool},
    {DataType::kFloat16, "FLOAT16", DType::kF16},
    {DataType::kDouble, "DOUBLE", DType::kF64},
    {DataType::kUint32, "UINT32", DType::kU32},
    {DataType::kUint64, "UINT64", DType::kU64},
    {DataType::kBfloat16, "BFLOAT16", DType::kBF16},
    {DataType::kFloat8E4M3FN, "FLOAT8E4M3FN", stored::kF8E4M3FN},
    {DataType::kFloat8E4M3FNUZ, "FLOAT8E4M3FNUZ", stored::kF8E4M3FNUZ},
    {DataType::kFloat8E5M2, "FLOAT8E5M2", stored::kF8E5M2},
    {DataType::kFloat8E5M2FNUZ, "FLOAT8E5M2FNUZ", stored::kF8E5M2FNUZ},
    {DataType::kFloat8E8M0, "FLOAT8E8M0", stored::kF8E8M0},
    {DataType::kFloat4E2M1, "FLOAT4E2M1", stored::kF4E2M1},
    {DataType::kUint4, "UINT4", stored::kU4},
    {DataType::kInt4, "INT4", stored::kI4},
    {DataType::kUint2, "UINT2", stored::kU2},
    {DataType::kInt2, "INT2", stored::kI2},
    {DataType::kUndefined, "UNDEFINED", std::nullopt},
};

std::string describe(const TensorProto& proto) { return "tensor " + printable(proto.name) + ": "; }

Shape checked_shape(const TensorProto& proto) {
  for (const int64_t dim : proto.dims) {
    TW_REQUIRE(dim >= 0, describe(proto), "dimension ", dim, " is negative");
  }
  Shape shape(proto.dims);
  try {
    shape.num_elements();
  } catch (const Error&) {
    raise(describe(proto), "shape ", shape, " has more elements than can be counted");
  }
  return shape;
}

void require_bools(const TensorProto& proto, const Tensor& tensor) {
  if (tensor.dtype() != DType::kBool) return;
  const auto* bytes = static_cast<const uint8_t*>(tensor.raw());
  const auto* bad = std::find_if(bytes, bytes + tensor.num_bytes(), [](uint8_t byte) { return byte > 1; });
  TW_REQUIRE(bad == bytes + tensor.num_bytes(), describe(proto), "element ", bad - bytes, " is neither true nor false");
}

/// A part of a mapped file that a tensor views; its memory goes with the tensor.
struct MappedPart {
  MappedPart(std::shared_ptr<MappedFile> whole, std::string_view part) : file(std::move(whole)), bytes(part) {}
  MappedPart(const MappedPart&) = delete;
  MappedPart& operator=(const MappedPart&) = delete;
  ~MappedPart() { file->release(bytes); }

  std::shared_ptr<MappedFile> file;
  std::string_view bytes;
};

Tensor copy_of(const TensorType& type, std::string_view bytes) {
  Tensor tensor(type);
  if (!bytes.empty()) std::memcpy(tensor.raw(), bytes.data(), bytes.size());
  return tensor;
}

/// Only memory that `keep_alive` holds, and that is aligned, can be viewed.
bool can_view(const TensorType& type, std::string_view bytes, const std::shared_ptr<MappedFile>& keep_alive) {
  return keep_alive != nullptr && !bytes.empty() &&
         reinterpret_cast<uintptr_t>(bytes.data()) % size_of(type.dtype) == 0;
}

Tensor view_of(const TensorType& type, std::string_view bytes, std::shared_ptr<void> keep_alive) {
  return Tensor::borrow(type.dtype, type.shape, const_cast<char*>(bytes.data()), std::move(keep_alive));
}

/// How many elements lie in one byte of a file.
uint64_t elements_in_byte(DType dtype) {
  if (dtype == stored::kI4 || dtype == stored::kU4 || dtype == stored::kF4E2M1) return 2;
  return dtype == stored::kI2 || dtype == stored::kU2 ? 4 : 1;
}

uint64_t stored_bytes(const TensorType& type) {
  const auto count = static_cast<uint64_t>(type.shape.num_elements());
  const uint64_t shared = elements_in_byte(type.dtype);
  return shared > 1 ? count / shared + (count % shared != 0 ? 1 : 0) : count * size_of(type.dtype);
}

/// Elements that share bytes, the first in the lowest bits, each in one of its own.
Tensor unpacked(const TensorType& type, std::string_view bytes) {
  Tensor tensor(type);
  const uint64_t shared = elements_in_byte(type.dtype);
  const auto bits = static_cast<unsigned>(8 / shared);
  auto* out = static_cast<uint8_t*>(tensor.raw());
  for (uint64_t i = 0; i < static_cast<uint64_t>(tensor.num_elements()); ++i) {
    const auto byte = static_cast<uint8_t>(bytes[i / shared]);
    out[i] = static_cast<uint8_t>((byte >> (i % shared * bits)) & ((1U << bits) - 1U));
  }
  return tensor;
}

/// How many values the message lists.
size_t listed_values(const TensorProto& proto, DType dtype) {
  if (dtype == stored::kText) return proto.string_data.size();
  if (dtype == DType::kF32) return proto.float_data.size();
  return dtype == DType::kF64 ? proto.double_data.size() : proto.int_data.size();
}

template <typename Source>
Tensor from_list(const TensorType& type, const std::vector<Source>& values) {
  Tensor tensor(type);
  dispatch(type.dtype, [&](auto tag) {
    using T = decltype(tag);
    T* out = tensor.data<T>();
    for (size_t i = 0; i < values.size(); ++i) {
      // Two-byte floats are listed as the bits of integers.
      if constexpr (std::is_same_v<T, BF16> || std::is_same_v<T, F16>) {
        out[i].bits = static_cast<uint16_t>(values[i]);
      } else {
        out[i] = convert_element<T>(values[i]);
      }
    }
  });
  return tensor;
}

/// Integers that each are a byte, or two.
Tensor from_bytes(const TensorType& type, const std::vector<int64_t>& values) {
  std::string bytes;
  for (const int64_t value : values) bytes += static_cast<char>(value);
  return unpacked(type, bytes);
}

Tensor from_lists(const TensorProto& proto, const TensorType& type) {
  if (type.dtype == stored::kText) return stored::texts(type.shape, proto.string_data);
  if (stored::is_narrow(type.dtype)) return from_bytes(type, proto.int_data);
  if (type.dtype == DType::kF32) return from_list(type, proto.float_data);
  if (type.dtype == DType::kF64) return from_list(type, proto.double_data);
  return from_list(type, proto.int_data);
}

uint64_t number(const TensorProto& proto, const std::string& key, const std::string& text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  TW_REQUIRE(error == std::errc() && end == text.data() + text.size(), describe(proto), "external data has the ", key,
             " ", printable(text), ", which is not a number");
  return value;
}

}  // namespace

std::optional<DType> dtype_of(DataType type) {
  for (const TypeRow& row : kTypes) {
    if (row.onnx == type) return row.dtype;
  }
  return std::nullopt;
}

DataType data_type_of(DType dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype) return row.onnx;
  }
  raise("ONNX has no element type for ", thalweg::name_of(dtype));
}

std::optional<DataType> data_type_from_name(const std::string& name) {
  for (const TypeRow& row : kTypes) {
    if (row.name == name) return row.onnx;
  }
  return std::nullopt;
}

Tensor packed_bytes(const Tensor& tensor) {
  const uint64_t shared = stored::is_object(tensor.dtype()) ? 1 : elements_in_byte(tensor.dtype());
  if (shared == 1) return {};
  Tensor packed = Tensor::zeros(DType::kU8, {static_cast<int64_t>(stored_bytes(tensor.type()))});
  const auto* in = static_cast<const uint8_t*>(tensor.raw());
  for (uint64_t i = 0; i < static_cast<uint64_t>(tensor.num_elements()); ++i) {
    uint8_t& byte = packed.data<uint8_t>()[i / shared];
    byte = static_cast<uint8_t>(byte | in[i] << (i % shared * (8 / shared)));
  }
  return packed;
}

std::string name_of(DataType type) {
  for (const TypeRow& row : kTypes) {
    if (row.onnx == type) return row.name;
  }
  return "number " + std::to_string(static_cast<int32_t>(type));
}

TensorType TensorReader::check(const TensorProto& proto) {
  const std::optional<DType> dtype = onnx::dtype_of(proto.data_type);
  TW_REQUIRE(dtype.has_value(), describe(proto), "element type ", name_of(proto.data_type), " is not supported");
  const TensorType type{*dtype, checked_shape(proto)};
  const auto count = static_cast<uint64_t>(type.shape.num_elements());
  const uint64_t shared = elements_in_byte(*dtype);
  if (const std::optional<Contents> kept = contents(proto)) {
    const size_t bytes = kept->bytes.size();
    TW_REQUIRE(*dtype != stored::kText, describe(proto), "texts cannot be raw data");
    TW_REQUIRE(count / shared <= bytes && stored_bytes(type) == bytes, describe(proto), "shape ", type.shape, " of ",
               thalweg::name_of(*dtype), " does not fit its ", bytes, " bytes");
  } else {
    const uint64_t listed = shared > 1 ? stored_bytes(type) : count;
    TW_REQUIRE(listed == listed_values(proto, *dtype), describe(proto), "shape ", type.shape, " of ",
               thalweg::name_of(*dtype), " does not fit its ", listed_values(proto, *dtype), " values");
  }
  return type;
}

Tensor TensorReader::read(const TensorProto& proto) {
  const TensorType type = check(proto);
  const std::optional<Contents> kept = contents(proto);
  if (!kept.has_value()) return from_lists(proto, type);
  const auto& [bytes, file] = *kept;
  if (elements_in_byte(type.dtype) > 1) return unpacked(type, bytes);
  const Tensor tensor = can_view(type, bytes, file) ? view_of(type, bytes, file) : copy_of(type, bytes);
  require_bools(proto, tensor);
  return tensor;
}

Tensor TensorReader::read_once(const TensorProto& proto) {
  const std::optional<Contents> kept = contents(proto);
  if (!kept.has_value() || kept->file == nullptr) return read(proto);
  const Tensor tensor = read(proto);
  if (elements_in_byte(tensor.dtype()) > 1) return tensor;
  const auto part = std::make_shared<MappedPart>(kept->file, kept->bytes);
  return can_view(tensor.type(), kept->bytes, kept->file) ? view_of(tensor.type(), kept->bytes, part) : tensor;
}

std::optional<TensorReader::Contents> TensorReader::contents(const TensorProto& proto) {
  if (proto.external) return external_contents(proto);
  if (proto.has_raw_data) return Contents{proto.raw_data, file_};
  return std::nullopt;
}

std::shared_ptr<MappedFile> TensorReader::open_external(const TensorProto& proto, const std::string& location) {
  namespace fs = std::filesystem;
  TW_REQUIRE(!folder_.empty(), describe(proto), "its data is in another file, ", printable(location),
             ", but the model was not read from a file");
  const fs::path relative(location);
  bool leaves = location.empty() || relative.is_absolute();
  for (const fs::path& part : relative) leaves = leaves || part == "..";
  TW_REQUIRE(!leaves, describe(proto), "its data is in ", printable(location), ", which is not in the model's folder");
  const fs::path path = folder_ / relative;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = external_files_.find(path);
  if (known != external_files_.end()) return known->second;
  std::error_code missing;
  const fs::path real = fs::canonical(path, missing);
  TW_REQUIRE(!missing, describe(proto), "cannot find its data, ", path.string(), ": ", missing.message());
  const fs::path inside = real.lexically_relative(fs::canonical(folder_));
  TW_REQUIRE(!inside.empty() && *inside.begin() != "..", describe(proto), "its data ", path.string(),
             " is a link that leaves the model's folder");
  auto file = std::make_shared<MappedFile>(real.string());
  external_files_[path] = file;
  return file;
}

TensorReader::Contents TensorReader::external_contents(const TensorProto& proto) {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
  for (const auto& [key, value] : proto.external_data) {
    if (key == "location") location = value;
    if (key == "offset") offset = number(proto, key, value);
    if (key == "length") length = number(proto, key, value);
  }
  auto file = open_external(proto, location);
  TW_REQUIRE(offset <= file->size() && length.value_or(0) <= file->size() - offset, describe(proto), "bytes ", offset,
             " to ", offset + length.value_or(0), " lie outside of the ", file->size(), " bytes of ",
             printable(location));
  return {file->text().substr(offset, length.value_or(file->size() - offset)), file};
}

}  // namespace thalweg::onnx
