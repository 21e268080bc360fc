// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "support/sanitized.h"
#include "support/temporary_directory.h"

namespace thalweg::data {
namespace {

constexpr int64_t kEntries = 40;
constexpr int64_t kBeforeTheFork = 10;

/// What entry `number` holds if `writer` has put it there.
std::vector<uint8_t> content(int64_t number, int writer) {
  std::vector<uint8_t> bytes(100, static_cast<uint8_t>(number));
  bytes[0] = static_cast<uint8_t>(writer);
  return bytes;
}

/// Entries of a cache that are not what `writer` and, before it, writer 0 have put there.
int wrong_entries(const SampleCache& cache, int writer) {
  int wrong = 0;
  std::vector<uint8_t> bytes;
  for (int64_t i = 0; i < kEntries; ++i) {
    const bool found = cache.get(i, bytes);
    wrong += found && bytes == content(i, i < kBeforeTheFork ? 0 : writer) ? 0 : 1;
  }
  return wrong;
}

void fill(SampleCache& cache, int64_t first, int64_t end, int writer) {
  for (int64_t i = first; i < end; ++i) cache.put(i, content(i, writer));
}

// As workers of a group do that are forked from one process, they use the cache at the same time and in different
// orders; here the child fills it while the parent waits, and the parent writes over nothing that the child has.
TEST(SampleCache, ForkedProcessesDoNotWriteToEachOthersFile) {
  if (testing::kThreadSanitized) GTEST_SKIP() << "it cannot follow the locks that Arrow's memory pool takes at a fork";
  const testing::TemporaryDirectory directory;
  SampleCache cache(kEntries, {.disk_bytes = 1 << 20, .directory = directory.path().string()});
  fill(cache, 0, kBeforeTheFork, 0);
  std::array<int, 2> filled{}, checked{};
  ASSERT_EQ(::pipe(filled.data()), 0);
  ASSERT_EQ(::pipe(checked.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    fill(cache, kBeforeTheFork, kEntries, 1);
    char byte = 0;
    const bool told = ::write(filled[1], &byte, 1) == 1 && ::read(checked[0], &byte, 1) == 1;
    ::_exit(told ? wrong_entries(cache, 1) : 100);
  }
  char byte = 0;
  ASSERT_EQ(::read(filled[0], &byte, 1), 1);
  fill(cache, kBeforeTheFork, kEntries, 2);
  EXPECT_EQ(wrong_entries(cache, 2), 0) << "of the parent";
  ASSERT_EQ(::write(checked[1], &byte, 1), 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "of the child";
  for (const int end : {filled[0], filled[1], checked[0], checked[1]}) ::close(end);
  EXPECT_EQ(directory.num_files(), 0U) << "no file keeps its name";
}

TEST(SampleCache, AForkedProcessThatGetsNoFileReadsAgainInstead) {
  if (testing::kThreadSanitized) GTEST_SKIP() << "it cannot follow the locks that Arrow's memory pool takes at a fork";
  auto directory = std::make_unique<testing::TemporaryDirectory>();
  SampleCache cache(kEntries, {.disk_bytes = 1 << 20, .directory = directory->path().string()});
  fill(cache, 0, kBeforeTheFork, 0);
  directory.reset();
  const pid_t child = ::fork();
  if (child == 0) {
    fill(cache, kBeforeTheFork, kEntries, 1);
    const bool told = cache.status().disk_failure.find("cannot keep a cache here") != std::string::npos;
    ::_exit(told && wrong_entries(cache, 1) == kEntries - kBeforeTheFork ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace thalweg::data
