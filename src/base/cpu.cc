// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "base/cpu.h"

#include <fstream>

namespace thalweg {

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::vector<std::string> cpu_features() {
  __builtin_cpu_init();
  std::vector<std::string> names;
  const auto add = [&](const char* name, bool present) {
    if (present) names.emplace_back(name);
  };
  // The builtin takes nothing but literals.
  add("sse4.2", __builtin_cpu_supports("sse4.2"));
  add("avx", __builtin_cpu_supports("avx"));
  add("avx2", __builtin_cpu_supports("avx2"));
  add("fma", __builtin_cpu_supports("fma"));
  add("f16c", __builtin_cpu_supports("f16c"));
  add("avx512f", __builtin_cpu_supports("avx512f"));
  add("avx512bw", __builtin_cpu_supports("avx512bw"));
  add("avx512dq", __builtin_cpu_supports("avx512dq"));
  add("avx512vl", __builtin_cpu_supports("avx512vl"));
  add("avx_vnni", __builtin_cpu_supports("avxvnni"));
  add("avx512_vnni", __builtin_cpu_supports("avx512vnni"));
  add("avx512_bf16", __builtin_cpu_supports("avx512bf16"));
  add("avx512_fp16", __builtin_cpu_supports("avx512fp16"));
  add("amx_int8", __builtin_cpu_supports("amx-int8"));
  add("amx_bf16", __builtin_cpu_supports("amx-bf16"));
  return names;
}

bool cpu_computes_in_bf16() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512bf16") != 0;
}

bool cpu_has_int8_products() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512vnni") != 0 || __builtin_cpu_supports("avxvnni") != 0 ||
         __builtin_cpu_supports("amx-int8") != 0;
}

}  // namespace thalweg
