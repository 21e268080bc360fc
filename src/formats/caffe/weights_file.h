// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "thalweg/tensor.h"

namespace thalweg::caffe {

/// The weights of a network, of any of Caffe's three forms, by the names of its layers.
class WeightsFile {
 public:
  /// Throws an Error that names the file and the byte if it is no such file.
  explicit WeightsFile(const std::string& path);
  /// From memory; `name` is for messages.
  WeightsFile(std::string bytes, std::string name);

  const std::string& name() const { return name_; }
  /// How many weights a layer has; 0 if the file has no layer of that name.
  size_t count(const std::string& layer) const;
  std::vector<std::string> layers() const;
  /// One weight, as f32, of the shape that the file says. Throws if its numbers are not as many as that holds.
  Tensor read(const std::string& layer, size_t index) const;

 private:
  void find_layers(std::string_view bytes);

  std::string name_;
  std::unique_ptr<MappedFile> file_;
  std::string bytes_;
  const char* begin_ = nullptr;
  /// The messages of weights, which point into the file.
  std::map<std::string, std::vector<std::string_view>> blobs_;
};

}  // namespace thalweg::caffe
