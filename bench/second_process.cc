// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "bench/second_process.h"

#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace thalweg::bench {
namespace {

// By which the second process knows its task.
constexpr const char* kCase = "THALWEG_BENCH_SECOND_CASE";
constexpr const char* kAddress = "THALWEG_BENCH_SECOND_ADDRESS";
// Where to meet, and the network name space of the second process, if there is a wire between the two
// (bench/peer/wire.py).
constexpr const char* kMeet = "THALWEG_BENCH_MEET";
constexpr const char* kSpace = "THALWEG_BENCH_SECOND_SPACE";
constexpr const char* kSecret = "bench";
constexpr std::chrono::hours kPatience{12};

/// What starts this program once more, at the other end of the wire if there is one.
std::vector<std::string> command_of_second() {
  std::vector<std::string> command;
  if (const char* space = std::getenv(kSpace)) command = {"ip", "netns", "exec", space};
  command.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
  return command;
}

}  // namespace

SecondProcess::SecondProcess(const std::string& name) {
  comm::RendezvousOptions options;
  options.secret = kSecret;
  options.tls = name.ends_with("_tls");
  options.min_size = options.max_size = 2;
  options.silence = kPatience;
  if (const char* meet = std::getenv(kMeet)) options.address = meet;
  options.log = [](const std::string&) {};
  rendezvous_ = std::make_unique<comm::Rendezvous>(options);
  ::setenv(kCase, name.c_str(), 1);
  ::setenv(kAddress, rendezvous_->address().c_str(), 1);
  std::vector<std::string> command = command_of_second();
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  TW_REQUIRE(::posix_spawnp(&process_, arguments[0], nullptr, nullptr, arguments.data(), environ) == 0,
             "cannot start a second process");
}

SecondProcess::~SecondProcess() {
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

std::optional<SecondProcess::Task> SecondProcess::task() {
  const char* name = std::getenv(kCase);
  const char* address = std::getenv(kAddress);
  if (name == nullptr || address == nullptr) return std::nullopt;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  return Task{name, address};
}

std::unique_ptr<comm::Group> join_pair(const std::string& name, const std::string& address) {
  comm::GroupOptions options;
  options.rendezvous = address;
  options.secret = kSecret;
  options.tls = name.ends_with("_tls");
  options.path = name.find("_tcp") != std::string::npos || options.tls ? comm::Path::kTcp : comm::Path::kAuto;
  options.timeout = kPatience;
  return comm::Group::join(options);
}

}  // namespace thalweg::bench
