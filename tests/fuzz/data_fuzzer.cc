// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The entry point of libFuzzer; TW_FUZZ_TARGET is one of the functions in data_targets.h.
#include "fuzz/data_targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  thalweg::fuzz::TW_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
