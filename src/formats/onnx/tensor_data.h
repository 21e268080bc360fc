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
  Tensor read(const TensorProto& proto);

 private:
  Tensor read_external(const TensorProto& proto, DType dtype, const Shape& shape);
  std::shared_ptr<MappedFile> open_external(const TensorProto& proto, const std::string& location);

  std::shared_ptr<MappedFile> file_;
  std::filesystem::path folder_;
  std::mutex mutex_;
  std::map<std::filesystem::path, std::shared_ptr<MappedFile>> external_files_;
};

}  // namespace thalweg::onnx
