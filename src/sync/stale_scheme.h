// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sync/compress/compressor.h"
#include "sync/group_scheme.h"

namespace thalweg::sync {

/// Gradients travel to those who serve the parameters, in rounds that need not wait for anybody to compute.
struct StaleParts {
  /// How many steps a worker may be ahead of the slowest one; kUnbounded: any number.
  int64_t staleness = 0;
  /// How long a worker waits for one that is behind, and alive, before it does without it; at the end of the run, how
  /// long for the next step of anybody.
  std::chrono::duration<double> patience{600.0};
  /// A worker goes on only with weights that contain its own last gradient.
  bool own_first = false;
  std::unique_ptr<Compressor> compressor;
  DType row_type = DType::kF32;
};
std::shared_ptr<Scheme> make_stale_synchronous(std::shared_ptr<comm::Group> group, const SchemeOptions& options,
                                               StaleParts parts);

}  // namespace thalweg::sync
