// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "thalweg/safetensors.h"
#include "train/scheme.h"

namespace thalweg::sync {

/// All weights that are trained, in one row, as they lie in memory.
class FlatWeights {
 public:
  explicit FlatWeights(Trainee& trainee);

  size_t size() const { return size_; }
  void read(std::vector<float>& values) const;
  /// Needs the lock of the weights.
  void write(std::span<const float> values) const;
  /// Numbers that belong to the weights, one each, as tensors "<prefix><parameter>" in plain layout.
  std::vector<NamedTensor> save(const std::string& prefix, std::span<const float> values) const;
  /// What `save` gave; false if it is not among the tensors. Throws Error if a shape differs.
  bool load(const std::string& prefix, const std::vector<NamedTensor>& tensors, std::vector<float>& values) const;

 private:
  struct Entry {
    size_t variable = 0;
    size_t begin = 0;
    size_t floats = 0;
  };
  Variables& variables_;
  std::vector<Entry> entries_;
  size_t size_ = 0;
};

}  // namespace thalweg::sync
