// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/worker_process.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "cli/process_keeper.h"
#include "thalweg/error.h"

namespace thalweg::cli {
namespace {

/// A line longer than this is handed on in pieces.
constexpr size_t kLongestLine = size_t{64} << 10U;
/// Taken at once, so that a worker that prints without pause keeps nobody from the others. It is what a pipe holds:
/// after a worker has ended, nothing of what it printed is left behind.
constexpr size_t kMostAtOnce = size_t{64} << 10U;

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& added) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (added.count(text.substr(0, text.find('='))) == 0) result.push_back(text);
  }
  for (const auto& [name, value] : added) result.push_back(name + "=" + value);
  return result;
}

/// In the child, where only calls that are safe after a fork of a program with threads may be made. Does not return.
[[noreturn]] void become(char* const* arguments, char* const* environment, const cpu_set_t* processors,
                         const rlimit* open_files, const ProcessKeeper* keeper, int output, int failure, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A group of its own, so that signals reach what the program itself starts as well.
  ::setpgid(0, 0);
  if (keeper != nullptr) keeper->keep(::getpid());
  if (::getppid() == parent) {
    // Who reads from a terminal without being in its foreground would be stopped.
    if (::isatty(STDIN_FILENO) == 1) ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    if (processors != nullptr) ::sched_setaffinity(0, sizeof *processors, processors);
    if (open_files != nullptr) ::setrlimit(RLIMIT_NOFILE, open_files);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    environ = const_cast<char**>(environment);
    ::execvp(arguments[0], arguments);
    const int reason = errno;
    [[maybe_unused]] const ssize_t written = ::write(failure, &reason, sizeof reason);
  }
  ::_exit(127);
}

}  // namespace

WorkerProcess::WorkerProcess(const WorkerCommand& command) {
  int output[2], failure[2];
  TW_REQUIRE(::pipe2(output, O_CLOEXEC) == 0, "cannot make a pipe: ", std::strerror(errno));
  TW_REQUIRE(::pipe2(failure, O_CLOEXEC) == 0, "cannot make a pipe: ", std::strerror(errno));
  std::vector<std::string> arguments = command.arguments;
  std::vector<std::string> environment = environment_with(command.environment);
  const std::vector<char*> argument_list = pointers_to(arguments), environment_list = pointers_to(environment);
  cpu_set_t processors;
  CPU_ZERO(&processors);
  for (const int processor : command.processors) CPU_SET(static_cast<size_t>(processor), &processors);
  const pid_t self = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    become(argument_list.data(), environment_list.data(), command.processors.empty() ? nullptr : &processors,
           command.open_files ? &*command.open_files : nullptr, command.keeper, output[1], failure[1], self);
  }
  ::close(output[1]);
  ::close(failure[1]);
  output_ = output[0];
  ::fcntl(output_, F_SETFL, O_NONBLOCK);
  int reason = pid_ < 0 ? errno : 0;
  const bool failed = pid_ < 0 || ::read(failure[0], &reason, sizeof reason) == sizeof reason;
  ::close(failure[0]);
  if (!failed) return;
  if (pid_ > 0) {
    ::waitpid(pid_, nullptr, 0);
    if (command.keeper != nullptr) command.keeper->release(pid_);
  }
  ::close(output_);
  raise("cannot start ", command.arguments[0], ": ", std::strerror(reason));
}

WorkerProcess::~WorkerProcess() {
  if (pid_ > 0) {
    signal(SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (output_ >= 0) ::close(output_);
}

std::vector<std::string> WorkerProcess::lines(bool rest) {
  char piece[4096];
  for (size_t taken = 0; output_ >= 0 && taken < kMostAtOnce;) {
    const ssize_t count = ::read(output_, piece, sizeof piece);
    if (count > 0) {
      buffer_.append(piece, static_cast<size_t>(count));
      taken += static_cast<size_t>(count);
      continue;
    }
    if (count == 0) {
      ::close(output_);
      output_ = -1;
    }
    break;
  }
  std::vector<std::string> result;
  size_t begin = 0;
  for (size_t end = buffer_.find('\n'); end != std::string::npos; end = buffer_.find('\n', begin)) {
    result.push_back(buffer_.substr(begin, end - begin));
    begin = end + 1;
  }
  buffer_.erase(0, begin);
  if (!buffer_.empty() && (rest || output_ < 0 || buffer_.size() > kLongestLine)) {
    result.push_back(std::move(buffer_));
    buffer_.clear();
  }
  return result;
}

bool WorkerProcess::ended(int& status) {
  siginfo_t ending{};
  // Not reaped at once: until then the number of its group belongs to nobody else.
  if (pid_ <= 0 || ::waitid(P_PID, static_cast<id_t>(pid_), &ending, WEXITED | WNOHANG | WNOWAIT) != 0) return false;
  if (ending.si_pid != pid_) return false;
  signal(SIGKILL);
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return true;
}

void WorkerProcess::signal(int number) const {
  if (pid_ > 0) ::kill(-pid_, number);
}

std::string describe_status(int status) {
  if (WIFSIGNALED(status)) {
    return "was killed by signal " + std::to_string(WTERMSIG(status)) + " (" + ::strsignal(WTERMSIG(status)) + ")";
  }
  return "ended with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace thalweg::cli
