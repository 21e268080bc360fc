// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/patience.h"

namespace thalweg::testing {

/// This test program once more, running one disabled test: a process of its own, not a fork, which would lack the
/// threads of this one. It is killed, at the latest, when the object goes.
class ChildProcess {
 public:
  ChildProcess(const std::string& test, const std::map<std::string, std::string>& variables) {
    std::string program = std::filesystem::read_symlink("/proc/self/exe").string(), filter = "--gtest_filter=" + test,
                disabled = "--gtest_also_run_disabled_tests", brief = "--gtest_brief=1";
    char* arguments[] = {program.data(), filter.data(), disabled.data(), brief.data(), nullptr};
    std::vector<std::string> texts;
    for (const auto& [name, value] : variables) texts.push_back(name + "=" + value);
    std::vector<char*> environment;
    for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
    for (std::string& text : texts) environment.push_back(text.data());
    environment.push_back(nullptr);
    if (::posix_spawn(&pid_, program.c_str(), nullptr, nullptr, arguments, environment.data()) != 0) pid_ = -1;
  }
  ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  ChildProcess& operator=(ChildProcess&& other) noexcept {
    std::swap(pid_, other.pid_);
    return *this;
  }
  ~ChildProcess() { kill(); }

  bool started() const { return pid_ > 0; }
  void signal(int number) const { ::kill(pid_, number); }
  void kill() {
    if (pid_ <= 0) return;
    signal(SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  /// Waits for its end, with patience for the whole of a run. Returns the status of waitpid, 0 after success; one that
  /// does not end is killed, which is no success.
  int wait() {
    int status = 0;
    for (int i = 0; i < kPatiencesOfARun; ++i) {
      if (eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; })) {
        pid_ = -1;
        return status;
      }
    }
    kill();
    return SIGKILL;
  }

 private:
  static constexpr int kPatiencesOfARun = 4;
  pid_t pid_ = -1;
};

}  // namespace thalweg::testing
