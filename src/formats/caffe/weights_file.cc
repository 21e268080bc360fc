// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/caffe/weights_file.h"

#include <algorithm>

#include "base/text.h"
#include "formats/wire.h"

namespace thalweg::caffe {
namespace {

using formats::WireReader;

/// Caffe's own limit.
constexpr size_t kMostAxes = 32;

/// Numbers of the fields in one of the three messages that a layer may be.
struct LayerFields {
  uint32_t name, blobs;
  /// Of the message of the first form that one of the second may be; 0: none.
  uint32_t inner;
};
constexpr LayerFields kPresent{1, 7, 0}, kV1{4, 6, 1}, kV0{1, 50, 0};

struct LayerBlobs {
  std::string name;
  std::vector<std::string_view> blobs;
};

LayerBlobs read_layer(WireReader reader, const LayerFields& fields) {
  LayerBlobs layer;
  while (reader.next()) {
    if (reader.field() == fields.name) {
      layer.name = reader.text();
    } else if (reader.field() == fields.blobs) {
      layer.blobs.push_back(reader.bytes());
    } else if (fields.inner != 0 && reader.field() == fields.inner) {
      layer = read_layer(reader.message(), kV0);
    }
  }
  return layer;
}

/// A weight before its numbers are known to fit its shape.
struct Blob {
  std::vector<int64_t> dims;
  /// The older way of saying them: always four.
  std::vector<int64_t> old_dims = {0, 0, 0, 0};
  bool has_shape = false;
  std::vector<float> singles;
  std::vector<double> doubles;
};

Blob read_blob(WireReader reader) {
  Blob blob;
  while (reader.next()) {
    switch (reader.field()) {
      case 1:
      case 2:
      case 3:
      case 4: {
        const size_t place = reader.field() - 1;
        blob.old_dims[place] = reader.integer();
        break;
      }
      case 5: reader.append(blob.singles); break;
      case 7: {
        blob.has_shape = true;
        WireReader shape = reader.message();
        while (shape.next()) {
          if (shape.field() == 1) shape.append(blob.dims);
        }
        break;
      }
      case 8: reader.append(blob.doubles); break;
      default: break;  // gradients, which files of solvers have
    }
  }
  if (!blob.has_shape) blob.dims = blob.old_dims;
  return blob;
}

/// Without overflow, whatever the file says.
int64_t count_of(const std::vector<int64_t>& dims, const std::string& where) {
  TW_REQUIRE(dims.size() <= kMostAxes, where, " has ", dims.size(), " dimensions");
  int64_t count = 1;
  for (const int64_t dim : dims) {
    TW_REQUIRE(dim >= 0, where, " has a dimension of size ", dim);
    int64_t product = 0;
    TW_REQUIRE(!__builtin_mul_overflow(count, dim, &product), where, " is too large: ", Shape(dims));
    count = product;
  }
  return count;
}

}  // namespace

WeightsFile::WeightsFile(const std::string& path) : name_(path), file_(std::make_unique<MappedFile>(path)) {
  find_layers(file_->text());
}

WeightsFile::WeightsFile(std::string bytes, std::string name) : name_(std::move(name)), bytes_(std::move(bytes)) {
  find_layers(bytes_);
}

void WeightsFile::find_layers(std::string_view bytes) {
  constexpr std::string_view kHdf5 = "\x89HDF";
  TW_REQUIRE(!bytes.starts_with(kHdf5), name_, ": is an HDF5 file; only weights in protocol buffers are supported");
  begin_ = bytes.data();
  WireReader reader(bytes, name_);
  while (reader.next()) {
    const bool present = reader.field() == 100, v1 = reader.field() == 2;
    if (!present && !v1) continue;
    LayerBlobs layer = read_layer(reader.message(), present ? kPresent : kV1);
    if (!layer.blobs.empty()) blobs_[layer.name] = std::move(layer.blobs);
  }
  TW_REQUIRE(!blobs_.empty(), name_, ": there are no weights in it: it is no Caffe model, or cut short");
}

size_t WeightsFile::count(const std::string& layer) const {
  const auto found = blobs_.find(layer);
  return found == blobs_.end() ? 0 : found->second.size();
}

std::vector<std::string> WeightsFile::layers() const {
  std::vector<std::string> names;
  for (const auto& [name, blobs] : blobs_) names.push_back(name);
  return names;
}

Tensor WeightsFile::read(const std::string& layer, size_t index) const {
  const std::string where = name_ + ": weight " + std::to_string(index) + " of layer " + printable(layer);
  const std::string_view bytes = blobs_.at(layer).at(index);
  const Blob blob = read_blob(WireReader(bytes, name_, static_cast<uint64_t>(bytes.data() - begin_)));
  const int64_t count = count_of(blob.dims, where);
  const size_t given = blob.singles.size() + blob.doubles.size();
  TW_REQUIRE(blob.singles.empty() || blob.doubles.empty(), where, " has numbers of two types");
  TW_REQUIRE(static_cast<uint64_t>(count) == given, where, " is ", Shape(blob.dims), ", which has ", count,
             " numbers, but the file has ", given);
  Tensor result(DType::kF32, Shape(blob.dims));
  std::copy(blob.singles.begin(), blob.singles.end(), result.data<float>());
  std::transform(blob.doubles.begin(), blob.doubles.end(), result.data<float>(),
                 [](double value) { return static_cast<float>(value); });
  return result;
}

}  // namespace thalweg::caffe
