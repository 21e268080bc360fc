// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Cases that behave badly, for the test of the runner. They are no tests of anything, and no entry of the project's.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace {

TEST(Cases, Passes) {}

TEST(Cases, FailsAlways) { EXPECT_EQ(1 + 1, 3) << "two is not three"; }

// TW_MARK names a file that the first run leaves for the second.
TEST(Cases, FailsOnce) {
  const char* mark = std::getenv("TW_MARK");
  ASSERT_NE(mark, nullptr);
  const bool second = std::filesystem::exists(mark);
  std::ofstream(mark) << "seen";
  EXPECT_TRUE(second) << "the first time";
}

TEST(Cases, Hangs) {
  for (;;) ::pause();
}

TEST(Cases, Crashes) { std::abort(); }

TEST(Cases, Skips) { GTEST_SKIP() << "this machine has no moon"; }

}  // namespace
