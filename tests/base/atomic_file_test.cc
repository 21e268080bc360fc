// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/error_text.h"
#include "support/file_size_limit.h"
#include "support/temporary_directory.h"

namespace thalweg {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace thalweg::testing;

TEST(AtomicFile, ReplacesOnCommitOnly) {
  const TemporaryDirectory directory;
  const std::string path = directory / "file";
  write_bytes(path, "old");
  {
    AtomicFile file(path);
    file.write("new ", 4);
    file.write("content", 7);
    EXPECT_EQ(read_bytes(path), "old");
    file.commit();
  }
  EXPECT_EQ(read_bytes(path), "new content");
  EXPECT_EQ(directory.num_files(), 1U);
}

TEST(AtomicFile, LeavesNothingBehindWithoutCommit) {
  const TemporaryDirectory directory;
  const std::string path = directory / "file";
  write_bytes(path, "old");
  { AtomicFile(path).write("new", 3); }
  EXPECT_EQ(read_bytes(path), "old");
  EXPECT_EQ(directory.num_files(), 1U);
}

TEST(AtomicFile, FollowsASymbolicLink) {
  const TemporaryDirectory directory;
  const std::string target = directory / "target";
  write_bytes(target, "old");
  std::filesystem::create_symlink(target, directory / "link");
  AtomicFile file(directory / "link");
  file.write("new", 3);
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "link"));
  EXPECT_EQ(read_bytes(target), "new");
}

TEST(AtomicFile, SaysWhyAFileCannotBeCreated) {
  EXPECT_THAT(error_text([] { AtomicFile("/nowhere/at/all"); }),
              AllOf(HasSubstr("cannot create /nowhere/at/all"), HasSubstr("No such file")));
}

TEST(AtomicFile, SaysWhyItCannotReplace) {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "taken");
  EXPECT_THAT(error_text([&] { AtomicFile(directory / "taken").commit(); }),
              AllOf(HasSubstr("cannot replace"), HasSubstr("taken")));
  EXPECT_EQ(directory.num_files(), 1U);
}

TEST(AtomicFile, FailedWriteKeepsTheOldFileAndRemovesTheNew) {
  const TemporaryDirectory directory;
  const std::string path = directory / "file";
  write_bytes(path, "old");
  const std::string much(100'000, 'x');
  std::string message;
  {
    const FileSizeLimit limit(65536);
    message = error_text([&] {
      AtomicFile file(path);
      file.write(much.data(), much.size());
      file.commit();
    });
  }
  EXPECT_THAT(message,
              AllOf(HasSubstr("cannot write " + path), HasSubstr("File too large"), HasSubstr("after 65536 bytes")));
  EXPECT_EQ(read_bytes(path), "old");
  EXPECT_EQ(directory.num_files(), 1U);
}

TEST(AtomicFile, WhatIsNoFileIsNotReplacedByOne) {
  const TemporaryDirectory directory;
  const std::string path = directory / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(error_text([&] { AtomicFile(path).commit(); }),
              AllOf(HasSubstr("cannot write " + path), HasSubstr("a device, a pipe or a socket")));
  EXPECT_TRUE(std::filesystem::is_fifo(path));
  EXPECT_EQ(directory.num_files(), 1U);
}

TEST(AtomicFile, OldLeftoversOfKilledProcessesGo) {
  const TemporaryDirectory directory;
  const std::string path = directory / "file";
  for (const char* name : {"file.tmp-12-1", "file.tmp-12-2", "other.tmp-12-1"}) write_bytes(directory / name, "part");
  const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::hours(2);
  std::filesystem::last_write_time(directory / "file.tmp-12-1", old);
  std::filesystem::last_write_time(directory / "other.tmp-12-1", old);
  AtomicFile(path).commit();
  EXPECT_FALSE(std::filesystem::exists(directory / "file.tmp-12-1"));
  EXPECT_TRUE(std::filesystem::exists(directory / "file.tmp-12-2")) << "it may be another process's, at work";
  EXPECT_TRUE(std::filesystem::exists(directory / "other.tmp-12-1")) << "it is another file's";
}

}  // namespace
}  // namespace thalweg
