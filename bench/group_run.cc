// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "bench/group_run.h"

#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>

namespace thalweg::bench {
namespace {

// By which the second process knows its task.
constexpr const char* kCase = "THALWEG_BENCH_SECOND_CASE";
constexpr const char* kAddress = "THALWEG_BENCH_SECOND_ADDRESS";
constexpr const char* kSecret = "bench";

/// While the peer is measured this worker is stopped, for as long as that takes.
constexpr std::chrono::hours kPatience{12};

comm::GroupOptions group_options(const std::string& name, const std::string& address) {
  comm::GroupOptions options;
  options.rendezvous = address;
  options.secret = kSecret;
  options.path = name.ends_with("_tcp") ? comm::Path::kTcp : comm::Path::kAuto;
  options.timeout = kPatience;
  return options;
}

/// "allreduce_16mb_x2" -> 16.
size_t megabytes_of(const std::string& name) {
  const size_t begin = std::string("allreduce_").size();
  const size_t end = name.find("mb_x2");
  TW_REQUIRE(end != std::string::npos && end > begin && end < begin + 4, "unknown case ", name);
  return static_cast<size_t>(std::stoi(name.substr(begin, end - begin)));
}

}  // namespace

AllReduceRun::AllReduceRun(const std::string& name) : name_(name) {
  comm::RendezvousOptions options;
  options.secret = kSecret;
  options.min_size = options.max_size = 2;
  options.silence = kPatience;
  options.log = [](const std::string&) {};
  rendezvous_ = std::make_unique<comm::Rendezvous>(options);
  ::setenv(kCase, name.c_str(), 1);
  ::setenv(kAddress, rendezvous_->address().c_str(), 1);
  std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  char* arguments[] = {self.data(), nullptr};
  TW_REQUIRE(::posix_spawn(&second_, self.c_str(), nullptr, nullptr, arguments, environ) == 0,
             "cannot start a second process");
  group_ = comm::Group::join(group_options(name, rendezvous_->address()));
  fill();
}

AllReduceRun::AllReduceRun(const std::string& name, const std::string& address)
    : name_(name), group_(comm::Group::join(group_options(name, address))) {
  fill();
}

AllReduceRun::~AllReduceRun() {
  if (second_ <= 0) return;
  ::kill(second_, SIGKILL);
  ::waitpid(second_, nullptr, 0);
}

void AllReduceRun::fill() {
  const float scale = 0.5F * static_cast<float>(group_->rank() + 1);
  source_.resize(megabytes_of(name_) * 1000000 / sizeof(float));
  for (size_t i = 0; i < source_.size(); ++i) source_[i] = static_cast<float>(i % 1000) * scale;
  data_ = source_;
}

void AllReduceRun::announce(int steps) {
  int32_t count = steps;
  group_->communicator().broadcast(&count, sizeof count, group_->rank()).or_throw();
}

void AllReduceRun::step() { group_->communicator().all_reduce(data_.data(), data_.size(), DType::kF32).or_throw(); }

double AllReduceRun::check() const {
  double sum = 0;
  for (const float value : data_) sum += std::abs(static_cast<double>(value));
  return sum / static_cast<double>(data_.size());
}

bool AllReduceRun::serve_as_second(int& status) {
  const char* name = std::getenv(kCase);
  const char* address = std::getenv(kAddress);
  if (name == nullptr || address == nullptr) return false;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  status = 0;
  try {
    AllReduceRun run(name, address);
    for (;;) {
      int32_t count = 0;
      run.group_->communicator().broadcast(&count, sizeof count, 1 - run.group_->rank()).or_throw();
      for (int32_t i = 0; i < count; ++i) {
        run.reset();
        run.step();
      }
    }
  } catch (const std::exception& error) {
    // The first process has ended, as it does when it is told to quit.
    std::cerr << "second process: " << error.what() << "\n";
  }
  return true;
}

}  // namespace thalweg::bench
