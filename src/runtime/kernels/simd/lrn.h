// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/kernels/simd/dispatch.h"

namespace thalweg::simd {

/// Normalisation across channels over memory arranged as [batch][blocks][spatial][block] (see ChannelBlocking).
struct LrnJob {
  int64_t blocks;
  int64_t spatial;
  int64_t block;
  int64_t before;  ///< channels of the window before the one that it is for
  int64_t after;
  float alpha;  ///< divided by the size of the window
  float beta;
  float bias;
  bool bf16;
  const void* x;
  const void* dy;  ///< for the gradient
  void* out;       ///< y, or dx
};

/// Floats that lrn_pixels and lrn_grad_pixels need to work in.
inline int64_t lrn_scratch(const LrnJob& job) { return 5 * (job.blocks * job.block + job.before + job.after + 16); }

/// Positions [begin, end) of batch x spatial.
TW_SIMD_FUNCTION(lrn_pixels, (const LrnJob& job, int64_t begin, int64_t end, float* scratch),
                 (job, begin, end, scratch));
TW_SIMD_FUNCTION(lrn_grad_pixels, (const LrnJob& job, int64_t begin, int64_t end, float* scratch),
                 (job, begin, end, scratch));

}  // namespace thalweg::simd
