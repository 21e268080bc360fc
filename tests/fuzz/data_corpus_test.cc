// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The seeds of the fuzzers of data, and every input that was ever a finding, without a fuzzer.
#include <gtest/gtest.h>

#include <filesystem>

#include "fuzz/data_targets.h"
#include "support/source_dir.h"
#include "support/temporary_directory.h"

namespace thalweg {
namespace {

/// Each file of a folder of tests/ as it is, cut short, and with one byte changed.
void replay(const std::string& folder, void (*target)(std::string_view)) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TW_SOURCE_DIR "/tests/" + folder)) {
    if (!entry.is_regular_file() || entry.file_size() > 20000) continue;
    SCOPED_TRACE(entry.path().string());
    std::string bytes = testing::read_bytes(entry.path());
    EXPECT_NO_THROW(target(bytes));
    for (size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 24) {
      EXPECT_NO_THROW(target(std::string_view(bytes).substr(0, at)));
      bytes[at] = static_cast<char>(bytes[at] ^ 0x55);
      EXPECT_NO_THROW(target(bytes));
      bytes[at] = static_cast<char>(bytes[at] ^ 0x55);
    }
    ++files;
  }
  EXPECT_GE(files, 4U);
}

TEST(FuzzCorpus, Images) {
  replay("golden/images", fuzz::decode_images);
  replay("fuzz/corpus/images", fuzz::decode_images);
}
TEST(FuzzCorpus, Csv) { replay("fuzz/corpus/csv", fuzz::read_csv); }

}  // namespace
}  // namespace thalweg
