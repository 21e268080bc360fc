// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>

#include "comm/mpi_world.h"
#include "comm/socket.h"
#include "comm/world_group.h"

namespace thalweg::comm {
namespace {

/// A group whose members meet in this process.
struct Hosted {
  std::unique_ptr<Rendezvous> rendezvous;
  std::unique_ptr<Group> group;
};

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

void apply(const LaunchedOptions& launched, GroupOptions& options) {
  options.path = launched.path;
  options.tls |= launched.tls;
  options.streams = launched.streams;
  options.timeout = launched.timeout;
  options.form_timeout = launched.form_timeout.value_or(options.form_timeout);
}

/// In the first process: opens the place to meet, and sets in the options where it is and what shows who belongs.
std::unique_ptr<Rendezvous> open_rendezvous(int processes, GroupOptions& options) {
  RendezvousOptions meeting;
  meeting.tls = options.tls;
  meeting.address = ":0";
  meeting.secret = options.secret = make_secret();
  meeting.min_size = meeting.max_size = processes;
  meeting.form_timeout = options.form_timeout;
  meeting.log = [](const std::string&) {};
  auto rendezvous = std::make_unique<Rendezvous>(meeting);
  options.rendezvous = host_name() + ":" + std::to_string(Address::parse(rendezvous->address()).port);
  return rendezvous;
}

/// Says what this process waits for while MPI starts, which knows no deadline and cannot be interrupted.
class StartWatch {
 public:
  explicit StartWatch(std::chrono::duration<double> interval)
      : thread_([this, interval] {
          std::unique_lock<std::mutex> lock(mutex_);
          while (!changed_.wait_for(lock, interval, [&] { return started_; })) {
            std::fprintf(
                stderr,
                "thalweg: MPI does not start: not all of the processes that mpirun has started have come after "
                "%.0f s ('mpirun --timeout' ends such a job)\n",
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count());
          }
        }) {}
  ~StartWatch() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      started_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  StartWatch(const StartWatch&) = delete;
  StartWatch& operator=(const StartWatch&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool started_ = false;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::thread thread_;
};

/// The first process opens the place to meet, and tells the others by MPI where it is and what shows that they belong.
std::shared_ptr<Group> join_by_mpi(const LaunchedOptions& launched) {
  GroupOptions options;
  apply(launched, options);
  auto watch = std::make_optional<StartWatch>(options.form_timeout);
  const auto world = std::make_shared<const MpiWorld>();
  auto hosted = std::make_shared<Hosted>();
  options.seat = world->rank();
  std::string error;
  if (world->rank() == 0) {
    try {
      hosted->rendezvous = open_rendezvous(world->size(), options);
    } catch (const std::exception& caught) {
      error = caught.what();
    }
  }
  // The others wait for what the first one says, and MPI knows no deadline: it says something in any case.
  error = world->broadcast(error);
  TW_REQUIRE(error.empty(), "process 0 of mpirun's cannot open a place for all to meet: ", error);
  options.rendezvous = world->broadcast(options.rendezvous);
  options.secret = world->broadcast(options.secret);
  watch.reset();
  options.name = "process " + std::to_string(world->rank()) + " on " + host_name();
  hosted->group = join_world(options, world);
  return {hosted, hosted->group.get()};
}

}  // namespace

std::shared_ptr<Group> join_launched(const LaunchedOptions& launched) {
  TW_REQUIRE(launched.path != Path::kMpi || !launched.tls,
             "what goes by MPI is not encrypted: ask for MPI or for TLS, not for both");
  if (std::getenv("THALWEG_RENDEZVOUS") != nullptr) {
    GroupOptions options = options_from_environment();
    apply(launched, options);
    return Group::join(options);
  }
  if (MpiWorld::exists()) return join_by_mpi(launched);
  TW_REQUIRE(launched.path != Path::kMpi, "messages are to go by MPI, but mpirun has not started this process");
  return nullptr;
}

}  // namespace thalweg::comm
