// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// How the loops in this folder reach the widest vectors of the machine they run on.
//
// Every .cc file here is compiled three times, into the namespaces thalweg::simd::{baseline, avx2, avx512}
// (TW_SIMD_NS holds the name), for SSE4.2, AVX2+FMA and AVX-512. A header declares each function once with
// TW_SIMD_FUNCTION; callers use thalweg::simd::name(...), which forwards to the best copy.
//
// Rule for the .cc files: plain loops over pointers, own static helpers, <cmath> and <cstdint>; no standard
// templates. An out-of-line copy of such a template compiled for AVX-512 may be the one that the linker keeps for
// all, and would then fail on an older machine.

#if defined(TW_SIMD_MACRO) && !TW_SIMD_MACRO
#error "this copy is not compiled for the instructions that it is meant to use: see cmake/Library.cmake"
#endif

namespace thalweg::simd {

enum class Isa { kBaseline, kAvx2, kAvx512 };

/// The best set of instructions that this machine has; THALWEG_ISA=baseline|avx2|avx512 lowers it (for tests).
Isa best_isa();
const char* name_of(Isa isa);

}  // namespace thalweg::simd

/// Declares `void name params` in the three namespaces and a forwarder `name` in thalweg::simd; `args` repeats the
/// parameter names in parentheses. Use inside namespace thalweg::simd.
#define TW_SIMD_FUNCTION(name, params, args)            \
  namespace baseline {                                  \
  void name params;                                     \
  }                                                     \
  namespace avx2 {                                      \
  void name params;                                     \
  }                                                     \
  namespace avx512 {                                    \
  void name params;                                     \
  }                                                     \
  inline void name params {                             \
    switch (best_isa()) {                               \
      case Isa::kAvx512: avx512::name args; return;     \
      case Isa::kAvx2: avx2::name args; return;         \
      case Isa::kBaseline: baseline::name args; return; \
    }                                                   \
  }                                                     \
  static_assert(true, "takes the semicolon")
