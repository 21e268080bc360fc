// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "formats/onnx/proto.h"
#include "formats/onnx/tensor_data.h"

namespace thalweg::onnx {

/// The opsets of the default domain that converters are written for.
inline constexpr int64_t kOldestOpset = 1;
inline constexpr int64_t kNewestOpset = 28;

/// A model read from a file or from memory: its messages, with calls of its own functions replaced by their bodies, and
/// its tensors. Kept alive by whatever uses either.
struct ModelFile {
  /// The path, or "model in memory": how messages name it.
  std::string name;
  ModelProto proto;

  /// Version of the operator set of `domain` that the model asks for. Throws if it asks for none.
  int64_t opset(const std::string& domain) const;
  Tensor tensor(const TensorProto& tensor) const;
  /// The type alone; throws as `tensor` does.
  TensorType type(const TensorProto& tensor) const;
  /// As `tensor`; contents that lie in a file leave memory with the tensor. Nobody may write to tensors of this model
  /// then, since that would be undone.
  Tensor tensor_once(const TensorProto& tensor) const;

  // What the messages point into.
  std::shared_ptr<MappedFile> file_;
  std::shared_ptr<const std::string> bytes_;
  std::shared_ptr<TensorReader> reader_;
};

/// Throws an Error that names the file if it is not an ONNX model of a supported opset.
std::shared_ptr<const ModelFile> open_model(const std::string& path);
/// A model whose bytes are in memory: no external data.
std::shared_ptr<const ModelFile> open_model_bytes(std::string bytes);

/// "" for both names of the default domain.
std::string normal_domain(const std::string& domain);

}  // namespace thalweg::onnx
