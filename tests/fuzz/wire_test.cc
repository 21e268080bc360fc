// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The seeds of the fuzzers of the protocol between members of a group, and every input that was ever a finding, as they
// are, cut short and damaged, without a fuzzer.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "fuzz/wire_targets.h"
#include "support/source_dir.h"
#include "support/temporary_directory.h"

namespace thalweg {
namespace {

/// Bytes of a seed replaced, removed, repeated, or cut off; sometimes those that are lengths get large.
std::string damaged(std::string bytes, std::mt19937& random) {
  const auto below = [&](size_t bound) { return bound == 0 ? 0 : random() % bound; };
  for (size_t i = 0, edits = 1 + below(6); i < edits && !bytes.empty(); ++i) {
    const size_t at = below(bytes.size());
    switch (below(5)) {
      case 0: bytes[at] = static_cast<char>(random()); break;
      case 1: bytes.erase(at, 1 + below(20)); break;
      case 2: bytes.insert(at, bytes.substr(below(bytes.size()), below(40))); break;
      case 3: bytes[at] = static_cast<char>(below(2) == 0 ? 0xFF : 0x7F); break;
      default: bytes.resize(at); break;
    }
  }
  return bytes;
}

void attack(const char* folder, void (*target)(std::string_view), int rounds) {
  std::mt19937 random(17);
  size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(TW_SOURCE_DIR "/tests/fuzz/corpus/") + folder)) {
    SCOPED_TRACE(entry.path().string());
    const std::string seed = testing::read_bytes(entry.path().string());
    EXPECT_NO_THROW(target(seed));
    for (size_t cut = 0; cut < seed.size(); cut += 1 + seed.size() / 256) {
      EXPECT_NO_THROW(target(std::string_view(seed).substr(0, cut)));
    }
    for (int i = 0; i < rounds; ++i) EXPECT_NO_THROW(target(damaged(seed, random))) << "round " << i;
    ++files;
  }
  EXPECT_GE(files, 4U);
}

TEST(WireFuzz, Messages) { attack("messages", fuzz::read_messages, 2000); }
TEST(WireFuzz, Frames) { attack("frames", fuzz::read_frames, 1000); }
TEST(WireFuzz, ControlMessages) { attack("control", fuzz::read_control, 1000); }
TEST(WireFuzz, Listeners) { attack("listener", fuzz::meet_listener, 200); }
TEST(WireFuzz, Meetings) { attack("meeting", fuzz::hold_meeting, 1000); }

}  // namespace
}  // namespace thalweg
