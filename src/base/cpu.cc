// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "base/cpu.h"

namespace thalweg {

bool cpu_computes_in_bf16() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512bf16") != 0;
}

}  // namespace thalweg
