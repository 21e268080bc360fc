// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/mapped_file.h"
#include "formats/onnx/proto.h"
#include "thalweg/tensor.h"

namespace thalweg::onnx {

/// Nothing if Thalweg has no such element type.
std::optional<DType> dtype_of(DataType type);
DataType data_type_of(DType dtype);
/// Of a name such as FLOAT16, as `name_of` gives; nothing if there is none.
std::optional<DataType> data_type_from_name(const std::string& name);
/// The bytes of elements of less than 8 bits as files have them, several in one; undefined for other elements.
Tensor packed_bytes(const Tensor& tensor);
/// As onnx.proto writes it, for messages.
std::string name_of(DataType type);

/// Turns TensorProtos of one model file into tensors. Contents that lie aligned in the model's file or in an external
/// one stay there, mapped as long as the tensor lives; others are copied. Thread-safe.
class TensorReader {
 public:
  /// `file` holds the model, null if its bytes lie elsewhere (then all contents are copied). External data must lie in
  /// `folder` or below; there is none if it is empty.
  TensorReader(std::shared_ptr<MappedFile> file, std::filesystem::path folder)
      : file_(std::move(file)), folder_(std::move(folder)) {}

  /// Throws an Error that names the tensor if its type is not supported, its dims are negative or too large, or its
  /// contents are not as long as they say.
  TensorType check(const TensorProto& proto);
  /// As `check`, with the contents.
  Tensor read(const TensorProto& proto);
  /// As `read`, and the contents leave memory with the tensor, but for the file. Nobody may write to tensors of this
  /// reader then, since that would be undone.
  Tensor read_once(const TensorProto& proto);

 private:
  /// The bytes of a tensor in a file, or in memory if `file` is null.
  struct Contents {
    std::string_view bytes;
    std::shared_ptr<MappedFile> file;
  };
  /// Nothing if the values are listed in the message.
  std::optional<Contents> contents(const TensorProto& proto);
  Contents external_contents(const TensorProto& proto);
  std::shared_ptr<MappedFile> open_external(const TensorProto& proto, const std::string& location);

  std::shared_ptr<MappedFile> file_;
  std::filesystem::path folder_;
  std::mutex mutex_;
  std::map<std::filesystem::path, std::shared_ptr<MappedFile>> external_files_;
};

}  // namespace thalweg::onnx
