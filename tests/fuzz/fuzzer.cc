// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The entry point of libFuzzer; TW_FUZZ_TARGET is one of the functions in TW_FUZZ_HEADER.
#include TW_FUZZ_HEADER

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  thalweg::fuzz::TW_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
