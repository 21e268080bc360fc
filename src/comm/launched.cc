// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

#include "comm/mpi_plugin.h"
#include "comm/socket.h"
#include "thalweg/comm.h"

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

/// MPI, from the library that lies beside this one.
class Mpi {
 public:
  Mpi() {
    Dl_info self{};
    ::dladdr(reinterpret_cast<const void*>(&make_secret), &self);
    const std::string own = self.dli_fname != nullptr ? self.dli_fname : "";
    const std::string path = own.substr(0, own.rfind('/') + 1) + "libthalweg_mpi.so";
    // OpenMPI loads parts of itself that look for its symbols among those of the whole program.
    library_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    TW_REQUIRE(library_ != nullptr, "mpirun has started this process, but ", ::dlerror(),
               ": build Thalweg where libopenmpi-dev is installed, or use 'thalweg launch'");
    check(function<ThalwegMpiWorld>("thalweg_mpi_world")(&rank_, &size_));
  }

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// The first process's text, in all of them.
  std::string broadcast(std::string text) const {
    const auto send = function<ThalwegMpiBroadcast>("thalweg_mpi_broadcast");
    int size = static_cast<int>(text.size());
    check(send(&size, sizeof size));
    text.resize(static_cast<size_t>(size));
    check(send(text.data(), size));
    return text;
  }

 private:
  static void check(const char* message) { TW_REQUIRE(message == nullptr, "MPI: ", message); }
  template <typename Function>
  Function function(const char* name) const {
    void* found = ::dlsym(library_, name);
    TW_REQUIRE(found != nullptr, "libthalweg_mpi.so has no ", name);
    return reinterpret_cast<Function>(found);
  }

  void* library_ = nullptr;
  int rank_ = 0;
  int size_ = 1;
};

/// The first process opens the place to meet, and tells the others by MPI where it is and what shows that they belong.
std::shared_ptr<Group> join_by_mpi() {
  const Mpi world;
  auto hosted = std::make_shared<Hosted>();
  GroupOptions options;
  if (world.rank() == 0) {
    RendezvousOptions meeting;
    meeting.address = ":0";
    meeting.secret = options.secret = make_secret();
    meeting.min_size = meeting.max_size = world.size();
    meeting.log = [](const std::string&) {};
    hosted->rendezvous = std::make_unique<Rendezvous>(meeting);
    const int port = Address::parse(hosted->rendezvous->address()).port;
    options.rendezvous = host_name() + ":" + std::to_string(port);
  }
  options.rendezvous = world.broadcast(options.rendezvous);
  options.secret = world.broadcast(options.secret);
  options.name = "process " + std::to_string(world.rank()) + " on " + host_name();
  hosted->group = Group::join(options);
  return {hosted, hosted->group.get()};
}

}  // namespace

std::shared_ptr<Group> join_launched() {
  if (std::getenv("THALWEG_RENDEZVOUS") != nullptr) return Group::join(options_from_environment());
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) return join_by_mpi();
  return nullptr;
}

}  // namespace thalweg::comm
