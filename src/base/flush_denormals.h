// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <xmmintrin.h>

namespace thalweg {

/// While it lives, numbers too small for full precision count as zero, in the calling thread and in the parallel
/// regions that it opens (those of oneDNN included), whose threads compute as the one that opened the region. Gradients
/// that vanish over many steps pass through that range, and weights that decayed lie in it, where some processors need
/// a hundred times as long for each operation.
class FlushDenormals {
 public:
  /// Does nothing unless `wanted`.
  explicit FlushDenormals(bool wanted = true) : saved_(_mm_getcsr()), wanted_(wanted) {
    if (wanted_) _mm_setcsr(saved_ | kFlushToZero | kDenormalsAreZero);
  }
  ~FlushDenormals() {
    if (wanted_) _mm_setcsr(saved_);
  }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  static constexpr unsigned kFlushToZero = 0x8000;
  static constexpr unsigned kDenormalsAreZero = 0x0040;
  unsigned saved_;
  bool wanted_;
};

}  // namespace thalweg
