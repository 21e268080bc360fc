// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/idx.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace thalweg::data {
namespace {

struct IdxType {
  uint8_t code;
  DType file_type;
};
constexpr std::array<IdxType, 5> kTypes = {
    {{0x08, DType::kU8}, {0x09, DType::kI8}, {0x0C, DType::kI32}, {0x0D, DType::kF32}, {0x0E, DType::kF64}}};
constexpr int kMaxRank = 8;

uint32_t big_endian(const uint8_t* bytes) {
  return static_cast<uint32_t>(bytes[0]) << 24U | static_cast<uint32_t>(bytes[1]) << 16U |
         static_cast<uint32_t>(bytes[2]) << 8U | bytes[3];
}

/// IDX is big-endian; every CPU we run on is not.
void swap_bytes(Tensor& tensor) {
  static_assert(std::endian::native == std::endian::little);
  const size_t size = size_of(tensor.dtype());
  auto* bytes = static_cast<char*>(tensor.raw());
  if (size == 1) return;
  for (size_t i = 0; i < tensor.num_bytes(); i += size) std::reverse(bytes + i, bytes + i + size);
}

DType element_type(const std::string& path, uint8_t code) {
  for (const IdxType& type : kTypes) {
    if (type.code == code) return type.file_type;
  }
  raise(path, ": IDX element type ", static_cast<int>(code), " is not supported");
}

}  // namespace

Tensor read_idx(const std::string& path) {
  std::error_code failure;
  const uintmax_t file_bytes = std::filesystem::file_size(path, failure);
  TW_REQUIRE(!failure, path, ": cannot read: ", failure.message());
  std::ifstream file(path, std::ios::binary);
  std::array<uint8_t, 4 + 4 * kMaxRank> header{};
  file.read(reinterpret_cast<char*>(header.data()), 4);
  TW_REQUIRE(file.gcount() == 4, path, ": cut short: ", file_bytes, " bytes, an IDX header has at least 4");
  TW_REQUIRE(!(header[0] == 0x1F && header[1] == 0x8B), path, ": is compressed with gzip: unpack it first");
  TW_REQUIRE(header[0] == 0 && header[1] == 0, path, ": not an IDX file: it does not start with two zero bytes");
  const DType dtype = element_type(path, header[2]);
  const int rank = header[3];
  TW_REQUIRE(rank >= 1 && rank <= kMaxRank, path, ": IDX rank ", rank, " is outside 1..", kMaxRank);
  file.read(reinterpret_cast<char*>(header.data()) + 4, 4 * rank);
  TW_REQUIRE(file.gcount() == 4 * rank, path, ": cut short within the IDX header");

  std::vector<int64_t> dims;
  // The extents come from the file: no product of them is formed, nor memory asked for, beyond what the file holds.
  uintmax_t expected = size_of(dtype);
  const uintmax_t header_bytes = 4 + 4 * static_cast<uintmax_t>(rank);
  bool too_large = false;
  for (int i = 0; i < rank; ++i) {
    dims.push_back(big_endian(header.data() + 4 + 4 * i));
    too_large = too_large || __builtin_mul_overflow(expected, static_cast<uintmax_t>(dims.back()), &expected);
  }
  TW_REQUIRE(!too_large && expected == file_bytes - header_bytes, path, ": its header promises shape ", Shape(dims),
             " of ", name_of(dtype), ", but ", file_bytes - header_bytes, " bytes follow");
  Tensor result(dtype, Shape(dims));
  file.read(static_cast<char*>(result.raw()), static_cast<std::streamsize>(expected));
  TW_REQUIRE(static_cast<uintmax_t>(file.gcount()) == expected, path, ": changed or failed while it was read");
  swap_bytes(result);
  return result;
}

namespace {

constexpr float kMnistMean = 0.1307F;
constexpr float kMnistDeviation = 0.3081F;

Tensor mnist_images(const std::string& path) {
  const Tensor pixels = read_idx(path);
  TW_REQUIRE(pixels.dtype() == DType::kU8 && pixels.shape().rank() == 3, path, ": holds ", pixels.type(),
             ", not images of u8 [N, height, width]");
  Tensor result(DType::kF32, Shape{pixels.shape()[0], 1, pixels.shape()[1], pixels.shape()[2]});
  const uint8_t* in = pixels.data<uint8_t>();
  float* out = result.data<float>();
  for (int64_t i = 0; i < pixels.num_elements(); ++i) {
    out[i] = (static_cast<float>(in[i]) / 255.0F - kMnistMean) / kMnistDeviation;
  }
  return result;
}

Tensor mnist_labels(const std::string& path) {
  const Tensor labels = read_idx(path);
  TW_REQUIRE(labels.dtype() == DType::kU8 && labels.shape().rank() == 1, path, ": holds ", labels.type(),
             ", not labels of u8 [N]");
  const uint8_t* values = labels.data<uint8_t>();
  for (int64_t i = 0; i < labels.num_elements(); ++i) {
    TW_REQUIRE(values[i] < kMnistClasses, path, ": label ", i, " is ", static_cast<int>(values[i]), ", not a digit");
  }
  return labels.to(DType::kI64);
}

TensorDataset mnist_part(const std::string& directory, const std::string& part) {
  const std::string stem = (std::filesystem::path(directory) / part).string();
  return TensorDataset({mnist_images(stem + "-images-idx3-ubyte")}, {mnist_labels(stem + "-labels-idx1-ubyte")});
}

}  // namespace

Mnist read_mnist(const std::string& directory) {
  return {mnist_part(directory, "train"), mnist_part(directory, "t10k")};
}

}  // namespace thalweg::data
