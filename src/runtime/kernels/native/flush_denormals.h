// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <xmmintrin.h>

namespace thalweg {

/// While it lives, numbers too small for full precision count as zero, in the calling thread and in the OpenMP threads
/// that work for it (those of oneDNN included). Gradients that vanish over many steps pass through that range, where
/// some processors need a hundred times as long for each operation.
class FlushDenormals {
 public:
  explicit FlushDenormals(int threads) : threads_(threads), saved_(_mm_getcsr()) {
    set(saved_ | kFlushToZero | kDenormalsAreZero);
  }
  ~FlushDenormals() { set(saved_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  static constexpr unsigned kFlushToZero = 0x8000;
  static constexpr unsigned kDenormalsAreZero = 0x0040;
  void set(unsigned state) const {
#pragma omp parallel num_threads(threads_)
    _mm_setcsr(state);
  }
  int threads_;
  unsigned saved_;
};

}  // namespace thalweg
