// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "thalweg/tensor.h"

namespace thalweg {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// A safetensors file opened for reading. The whole header is checked when it is opened: sizes, offsets, names and
/// types that do not fit are errors that name the file and the tensor, whatever the bytes are.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const;
  /// In the order of the data.
  std::vector<std::string> names() const;
  bool contains(const std::string& name) const;
  /// Throws if there is no such tensor, or if its element type has no DType here (such as F8_E4M3).
  TensorType type(const std::string& name) const;
  const std::map<std::string, std::string>& metadata() const;

  /// The values in the mapped file, which stays mapped as long as the tensor lives. Writing to the tensor does not
  /// change the file. The file must not be cut short meanwhile, as no program can survive that; files that
  /// save_safetensors replaces are safe.
  Tensor tensor(const std::string& name) const;
  /// Copies the values to `into`, which must have exactly their size in bytes; an I/O error is reported.
  void read(const std::string& name, std::span<std::byte> into) const;
  /// The same into a new tensor.
  Tensor load(const std::string& name) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// Replaces the file at `path` in one go: after any failure (a full disk, a crash) the old file is still there, whole.
/// Names must differ and be UTF-8. The bytes depend on the arguments alone.
void save_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace thalweg
