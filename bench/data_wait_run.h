// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "thalweg/data.h"
#include "thalweg/train.h"

namespace thalweg::bench {

/// Trains ResNet-50 on the photographs of bench/peer/make_data.py and measures how long each step waits for its batch.
class DataWaitRun {
 public:
  explicit DataWaitRun(int threads);

  struct Steps {
    std::vector<double> ms, wait_ms, losses;
  };
  /// So many steps. One more before them is left out: it finds nothing read ahead, and the very first compiles.
  Steps run(int steps);
  /// Milliseconds of one processor to read, decode and transform a batch.
  double decode_ms() const { return decode_ms_; }

 private:
  class Watch;
  std::unique_ptr<data::ImageFolder> images_;
  std::unique_ptr<Model> model_;
  std::shared_ptr<Watch> watch_;
  std::unique_ptr<Trainer> trainer_;
  double decode_ms_ = 0;
};

}  // namespace thalweg::bench
