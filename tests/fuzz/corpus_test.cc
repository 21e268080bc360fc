// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The fuzzers' seeds and every input that was ever a finding, without a fuzzer.
#include <gtest/gtest.h>

#include <filesystem>

#include "fuzz/targets.h"
#include "support/source_dir.h"
#include "support/temporary_directory.h"

namespace thalweg {
namespace {

void replay(const char* folder, void (*target)(std::string_view)) {
  size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(TW_SOURCE_DIR "/tests/fuzz/corpus/") + folder)) {
    SCOPED_TRACE(entry.path().string());
    const std::string bytes = testing::read_bytes(entry.path().string());
    EXPECT_NO_THROW(target(bytes));
    // Damage at every place must be harmless as well, not only where a fuzzer tried.
    for (size_t cut = 0; cut < bytes.size(); cut += 1 + bytes.size() / 64) {
      EXPECT_NO_THROW(target(std::string_view(bytes).substr(0, cut)));
    }
    ++files;
  }
  EXPECT_GE(files, 5U);
}

TEST(FuzzCorpus, OnnxModels) { replay("onnx", fuzz::run_onnx); }
TEST(FuzzCorpus, CaffeNetworks) { replay("caffe", fuzz::read_caffe); }
TEST(FuzzCorpus, Safetensors) { replay("safetensors", fuzz::read_safetensors); }

}  // namespace
}  // namespace thalweg
