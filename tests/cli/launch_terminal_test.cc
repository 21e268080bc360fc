// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// What a person sees of `thalweg launch` on a terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "cli/program.h"
#include "support/patience.h"

namespace thalweg::testing {
namespace {

using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr unsigned short kColumns = 80;

/// Runs a shell script on a terminal, and gives back all that was written to it.
std::string run_on_terminal(const std::string& script) {
  winsize size{};
  size.ws_row = 24;
  size.ws_col = kColumns;
  int terminal = -1;
  const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (pid == 0) {
    ::execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
    ::_exit(127);
  }
  std::string written;
  try {
    written = read_to_end(terminal);
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
    ::kill(pid, SIGKILL);
  }
  ::close(terminal);
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << written;
  return written;
}

/// The rows that such bytes leave on a screen without a right edge.
std::vector<std::string> rows_of(const std::string& written) {
  std::vector<std::string> rows(1);
  size_t column = 0;
  for (const char letter : written) {
    if (letter == '\r') {
      column = 0;
    } else if (letter == '\n') {
      rows.emplace_back();
    } else {
      if (rows.back().size() <= column) rows.back().resize(column + 1, ' ');
      rows.back()[column++] = letter;
    }
  }
  for (std::string& row : rows) row.erase(row.find_last_not_of(' ') + 1);
  return rows;
}

/// Where one worker has less of its processor than the other for some seconds it is named, and the begin left out.
auto is_progress(const std::string& step = "[0-9]+") {
  return AnyOf(ContainsRegex("^2 workers  step " + step + "  loss .* others [0-9]+%$"),
               ContainsRegex("^(step " + step + "  )?loss .* others [0-9]+%  worker [01] [0-9.]+x slow$"));
}

/// A worker trains for some seconds beside one that prints all the time.
const std::string kTrainAndTalk = TW_PROGRAM
    " launch -n 2 -- sh -c 'if [ $THALWEG_WORKER = 1 ]; then (while sleep 0.05; do echo talk; done) & "
    "fi; " TW_GROUP_EXAMPLE "; sleep 1'";

TEST(LaunchOnATerminal, LinesAndProgressAreNotMixed) {
  const std::string written = run_on_terminal(kTrainAndTalk);
  // It was shown, and rewritten while lines came. The begin is left out where one worker is slow, as in is_progress.
  EXPECT_THAT(written, AnyOf(HasSubstr("\r2 workers  step "), HasSubstr("\rstep "), HasSubstr("\rloss ")));
  size_t talks = 0;
  for (const std::string& row : rows_of(written)) {
    if (row.find("talk") != std::string::npos) {
      EXPECT_EQ(row, "[1] talk");
      ++talks;
    }
    if (row.find("samples/s  wait: ") != std::string::npos) {
      EXPECT_THAT(row, is_progress());
    }
    EXPECT_THAT(row, AnyOf(Not(HasSubstr("thalweg: launch: ")), StartsWith("thalweg: launch: ")));
  }
  EXPECT_GT(talks, 3U);
}

TEST(LaunchOnATerminal, TheProgressFitsAndStays) {
  std::vector<std::string> progress;
  for (const std::string& row : rows_of(run_on_terminal(kTrainAndTalk))) {
    if (row.find("samples/s  wait: data ") != std::string::npos) progress.push_back(row);
  }
  // What is rewritten leaves one row behind, the last.
  ASSERT_EQ(progress.size(), 1U) << ::testing::PrintToString(progress);
  EXPECT_LT(progress[0].size(), kColumns);
  EXPECT_THAT(progress[0], is_progress("480"));
}

}  // namespace
}  // namespace thalweg::testing
