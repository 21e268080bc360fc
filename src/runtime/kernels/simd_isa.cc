// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <string>

#include "runtime/kernels/simd/dispatch.h"

namespace thalweg::simd {
namespace {

Isa detect() {
  __builtin_cpu_init();
  Isa isa = Isa::kBaseline;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
    isa = Isa::kAvx2;
  if (isa == Isa::kAvx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd")) {
    isa = Isa::kAvx512;
  }
  if (const char* wanted = std::getenv("THALWEG_ISA")) {
    const std::string name = wanted;
    if (name == "baseline") isa = Isa::kBaseline;
    if (name == "avx2" && isa == Isa::kAvx512) isa = Isa::kAvx2;
  }
  return isa;
}

}  // namespace

Isa best_isa() {
  static const Isa isa = detect();
  return isa;
}

const char* name_of(Isa isa) {
  switch (isa) {
    case Isa::kAvx512: return "avx512";
    case Isa::kAvx2: return "avx2";
    case Isa::kBaseline: return "baseline";
  }
  return "unknown";
}

}  // namespace thalweg::simd
