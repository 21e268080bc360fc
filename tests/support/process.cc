// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "support/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "support/patience.h"
#include "thalweg/error.h"

namespace thalweg::testing {
namespace {

/// A whole run takes longer than any one thing that a test waits for.
constexpr int kPatiencesOfARun = 4;

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

RunningProcess::RunningProcess(const std::string& program, const std::vector<std::string>& arguments,
                               const std::vector<std::string>& environment) {
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, (folder_ / "out").c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, (folder_ / "error").c_str(), O_WRONLY | O_CREAT, 0600);
  const int failure =
      posix_spawn(&pid_, program.c_str(), &files, nullptr, pointers(words).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&files);
  TW_REQUIRE(failure == 0, "cannot start ", program);
}

RunningProcess::~RunningProcess() {
  if (pid_ <= 0) return;
  signal(SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void RunningProcess::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

ProcessResult RunningProcess::wait() {
  int status = 0;
  bool ended = false;
  for (int i = 0; i < kPatiencesOfARun && !ended; ++i) {
    ended = eventually([&] { return ::waitpid(pid_, &status, WNOHANG) != 0; });
  }
  TW_REQUIRE(ended, "a process did not end; it wrote: ", out(), error());
  pid_ = -1;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, out(), error()};
}

ProcessResult run_process(const std::string& program, const std::vector<std::string>& arguments,
                          const std::vector<std::string>& environment) {
  return RunningProcess(program, arguments, environment).wait();
}

}  // namespace thalweg::testing
