// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/tensor_data.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/text.h"
#include "tensor/dtype.h"

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
    {DataType::kString, "STRING", std::nullopt},
    {DataType::kBool, "BOOL", DType::kBool},
    {DataType::kFloat16, "FLOAT16", DType::kF16},
    {DataType::kDouble, "DOUBLE", DType::kF64},
    {DataType::kUint32, "UINT32", DType::kU32},
    {DataType::kUint64, "UINT64", DType::kU64},
    {DataType::kBfloat16, "BFLOAT16", DType::kBF16},
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

/// Refers to the bytes if they are aligned and `keep_alive` holds them.
Tensor from_bytes(const TensorProto& proto, DType dtype, const Shape& shape, std::string_view bytes,
                  const std::shared_ptr<MappedFile>& keep_alive) {
  const auto count = static_cast<uint64_t>(shape.num_elements());
  TW_REQUIRE(count <= bytes.size() && count * size_of(dtype) == bytes.size(), describe(proto), "shape ", shape, " of ",
             name_of(dtype), " does not fit its ", bytes.size(), " bytes");
  Tensor tensor;
  if (keep_alive != nullptr && count > 0 && reinterpret_cast<uintptr_t>(bytes.data()) % size_of(dtype) == 0) {
    tensor = Tensor::borrow(dtype, shape, const_cast<char*>(bytes.data()), keep_alive);
  } else {
    tensor = Tensor(dtype, shape);
    if (count > 0) std::memcpy(tensor.raw(), bytes.data(), bytes.size());
  }
  require_bools(proto, tensor);
  return tensor;
}

template <typename Source>
Tensor from_list(const TensorProto& proto, DType dtype, const Shape& shape, const std::vector<Source>& values) {
  TW_REQUIRE(static_cast<uint64_t>(shape.num_elements()) == values.size(), describe(proto), "shape ", shape, " of ",
             name_of(dtype), " does not fit its ", values.size(), " values");
  Tensor tensor(dtype, shape);
  dispatch(dtype, [&](auto tag) {
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

std::string name_of(DataType type) {
  for (const TypeRow& row : kTypes) {
    if (row.onnx == type) return row.name;
  }
  return "number " + std::to_string(static_cast<int32_t>(type));
}

Tensor TensorReader::read(const TensorProto& proto) {
  const std::optional<DType> dtype = onnx::dtype_of(proto.data_type);
  TW_REQUIRE(dtype.has_value(), describe(proto), "element type ", name_of(proto.data_type), " is not supported");
  const Shape shape = checked_shape(proto);
  if (proto.external) return read_external(proto, *dtype, shape);
  if (proto.has_raw_data) return from_bytes(proto, *dtype, shape, proto.raw_data, file_);
  if (*dtype == DType::kF32) return from_list(proto, *dtype, shape, proto.float_data);
  if (*dtype == DType::kF64) return from_list(proto, *dtype, shape, proto.double_data);
  return from_list(proto, *dtype, shape, proto.int_data);
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

Tensor TensorReader::read_external(const TensorProto& proto, DType dtype, const Shape& shape) {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
  for (const auto& [key, value] : proto.external_data) {
    if (key == "location") location = value;
    if (key == "offset") offset = number(proto, key, value);
    if (key == "length") length = number(proto, key, value);
  }
  const auto file = open_external(proto, location);
  TW_REQUIRE(offset <= file->size() && length.value_or(0) <= file->size() - offset, describe(proto), "bytes ", offset,
             " to ", offset + length.value_or(0), " lie outside of the ", file->size(), " bytes of ",
             printable(location));
  return from_bytes(proto, dtype, shape, file->text().substr(offset, length.value_or(file->size() - offset)), file);
}

}  // namespace thalweg::onnx
