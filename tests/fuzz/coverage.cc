// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Leads what GCC's -fsanitize-coverage=trace-pc calls to the counters that libFuzzer reads: the compiler of everything
// else here serves, and LLVM is needed for its fuzzing library alone.
#include <cstdint>

extern "C" {

void __sanitizer_cov_8bit_counters_init(uint8_t* start, uint8_t* stop);
void __sanitizer_cov_pcs_init(const uintptr_t* start, const uintptr_t* stop);
void __sanitizer_cov_trace_pc();
void __sanitizer_cov_trace_cmpf(float left, float right);
void __sanitizer_cov_trace_cmpd(double left, double right);

}  // extern "C"

namespace {

constexpr uintptr_t kCounters = 1 << 16;
uint8_t counters[kCounters];
/// Pairs of an address and flags, one for each counter; libFuzzer only wants as many.
uintptr_t places[2 * kCounters];

const bool registered = [] {
  __sanitizer_cov_8bit_counters_init(counters, counters + kCounters);
  __sanitizer_cov_pcs_init(places, places + 2 * kCounters);
  return true;
}();

}  // namespace

void __sanitizer_cov_trace_pc() {
  const auto place = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  // Multiplied by 2^64 over the golden ratio, so that neighbouring blocks spread over the counters.
  const uintptr_t index = (place * 0x9E3779B97F4A7C15) >> 48;
  if (counters[index] < 255) ++counters[index];
}

/// libFuzzer makes nothing of floating comparisons.
void __sanitizer_cov_trace_cmpf(float /*left*/, float /*right*/) {}
void __sanitizer_cov_trace_cmpd(double /*left*/, double /*right*/) {}
