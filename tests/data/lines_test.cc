// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/lines.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>

#include "data/manifest.h"
#include "support/error_text.h"
#include "support/temporary_directory.h"
#include "thalweg/data/text.h"

namespace thalweg::data {
namespace {

using testing::error_text;

/// Lines of a text that comes in pieces of `piece` bytes.
Lines lines_of(const std::string& text, size_t piece, size_t longest) {
  return {"some/file",
          [&text, piece, longest, offset = size_t{0}](char* to, size_t most) mutable {
            EXPECT_LE(offset, text.size());
            EXPECT_LE(most, longest + 2) << "more than a line is kept";
            const size_t count = std::min({piece, most, text.size() - offset});
            std::memcpy(to, text.data() + offset, count);
            offset += count;
            return count;
          },
          longest};
}

TEST(Lines, AreThoseBetweenLineEnds) {
  for (const std::string text : {"", "\n", "one", "one\n", "\n\none\ntwo\r\n\nlast"}) {
    for (const size_t piece : {1, 2, 3, 100}) {
      Lines lines = lines_of(text, piece, 5);
      size_t offset = 0;
      int64_t number = 0;
      for (std::string_view line; lines.next(line);) {
        EXPECT_EQ(lines.number(), ++number);
        EXPECT_EQ(static_cast<size_t>(lines.offset()), offset);
        EXPECT_EQ(line, text.substr(offset, text.find('\n', offset) - offset));
        offset += line.size() + 1;
      }
      const bool has_end = !text.empty() && text.back() == '\n';
      EXPECT_EQ(offset, text.size() + (text.empty() || has_end ? 0 : 1)) << text << " in pieces of " << piece;
    }
  }
}

TEST(Lines, ALineThatIsTooLongIsNamedBeforeItIsInMemory) {
  const std::string text = "short\n" + std::string(1000, 'x') + "\nshort\n";
  for (const size_t piece : {1, 7, 5000}) {
    Lines lines = lines_of(text, piece, 20);
    std::string_view line;
    EXPECT_TRUE(lines.next(line));
    EXPECT_EQ(error_text([&] { lines.next(line); }), "some/file: line 2 is longer than 20 bytes");
  }
}

// To open a pipe that nobody writes to would wait for a writer.
TEST(Lines, WhatIsNoFileIsRefused) {
  const testing::TemporaryDirectory directory;
  const std::string pipe = directory / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string expected = pipe + ": is not a file";
  EXPECT_EQ(error_text([&] { TextLines(pipe, Vocabulary()); }), expected);
  EXPECT_EQ(error_text([&] { count_tokens(pipe); }), expected);
  EXPECT_EQ(error_text([&] { Vocabulary::load(pipe); }), expected);
  EXPECT_EQ(error_text([&] { read_manifest(pipe); }), expected);
  EXPECT_EQ(error_text([&] { Vocabulary::load(directory / "absent"); }),
            directory / "absent" + ": cannot read: No such file or directory");
}

TEST(Manifest, ALargeNumberIsNoClass) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory / "manifest.tsv";
  for (const char* number : {"9999999", "99999999999999999999999"}) {
    testing::write_bytes(path, std::string("a.jpg\t3\nb.jpg\t") + number + "\n");
    EXPECT_EQ(error_text([&] { read_manifest(path); }).rfind(path + ": class ", 0), 0U);
    testing::write_bytes(path, std::string("a.jpg\tcat\nb.jpg\t") + number + "\n");
    EXPECT_EQ(read_manifest(path).classes, (std::vector<std::string>{number, "cat"})) << "among other names it is one";
  }
  testing::write_bytes(path, "a.jpg\t3\nb.jpg\t999999\n");
  EXPECT_EQ(read_manifest(path).classes.size(), 1000000U);
}

}  // namespace
}  // namespace thalweg::data
