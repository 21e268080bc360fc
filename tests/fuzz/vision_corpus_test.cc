// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The seeds of the fuzzers of annotations and masks, and every input that was ever a finding, without a fuzzer.
#include <gtest/gtest.h>

#include <filesystem>

#include "fuzz/vision_targets.h"
#include "support/source_dir.h"
#include "support/temporary_directory.h"

namespace thalweg {
namespace {

/// Each file of a folder of the corpus as it is, cut short, and with one byte changed.
void replay(const std::string& folder, void (*target)(std::string_view)) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TW_SOURCE_DIR "/tests/fuzz/corpus/" + folder)) {
    SCOPED_TRACE(entry.path().string());
    std::string bytes = testing::read_bytes(entry.path());
    EXPECT_NO_THROW(target(bytes));
    for (size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 200) {
      EXPECT_NO_THROW(target(std::string_view(bytes).substr(0, at)));
      for (const char mask : {'\x55', '\x01', '\x08'}) {
        bytes[at] = static_cast<char>(bytes[at] ^ mask);
        EXPECT_NO_THROW(target(bytes));
        bytes[at] = static_cast<char>(bytes[at] ^ mask);
      }
    }
    ++files;
  }
  EXPECT_GE(files, 4U);
}

TEST(FuzzCorpus, Runs) { replay("runs", fuzz::read_runs); }
TEST(FuzzCorpus, Annotations) { replay("annotations", fuzz::read_annotations); }
TEST(FuzzCorpus, Xml) { replay("xml", fuzz::read_xml); }

}  // namespace
}  // namespace thalweg
