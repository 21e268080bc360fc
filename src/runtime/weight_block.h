// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/aligned_buffer.h"
#include "thalweg/tensor.h"

namespace thalweg {

/// What one program has derived from fixed weights, side by side.
struct WeightBlock {
  explicit WeightBlock(size_t bytes) : memory(bytes) {}

  AlignedBuffer memory;
  /// The program has run what fills it.
  std::atomic<bool> made = false;
  /// Names in SharedWeights say where constants lie: these stay there.
  std::vector<Tensor> constants;
};

/// Where derived weights lie, by names that say how they are made, as long as some program has them: programs for other
/// shapes of inputs need not make them again.
class SharedWeights {
 public:
  /// Undefined unless there are such weights and they are made; else their bytes.
  Tensor find(const std::string& name, size_t bytes) const;
  void add(const std::string& name, const std::shared_ptr<WeightBlock>& block, size_t offset);

 private:
  struct Place {
    std::weak_ptr<WeightBlock> block;
    size_t offset = 0;
  };
  std::map<std::string, Place> places_;
};

}  // namespace thalweg
