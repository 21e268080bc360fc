// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// What the processes of FaultTest run. For one source file of a test program: it starts itself.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "sync/faults.h"

namespace thalweg::testing {

inline int port_in(const sockaddr_in6& address) { return ntohs(address.sin6_port); }

/// Breaks the TCP connections of this process that do not lead to the rendezvous.
inline void break_connections(int rendezvous_port) {
  for (int descriptor = 3; descriptor < 256; ++descriptor) {
    sockaddr_in6 peer{};
    socklen_t size = sizeof peer;
    if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) != 0) continue;
    const bool tcp = peer.sin6_family == AF_INET6 || peer.sin6_family == AF_INET;
    if (tcp && port_in(peer) != rendezvous_port) ::shutdown(descriptor, SHUT_RDWR);
  }
}

inline std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// Tells the test how far this worker is, takes its time, and breaks connections when told to.
struct Reporter : Callback {
  std::filesystem::path file;
  std::chrono::milliseconds pause{0};
  int64_t reset_at = 0;
  int rendezvous_port = 0;
  void on_step(const TrainState& state) override {
    const std::filesystem::path next = file.string() + ".new";
    std::ofstream(next) << state.progress.iteration;
    std::filesystem::rename(next, file);
    if (state.progress.iteration == reset_at) break_connections(rendezvous_port);
    std::this_thread::sleep_for(pause);
  }
};

class FaultWorker : public FaultTest {};

/// What the processes run.
TEST_F(FaultWorker, DISABLED_Train) {
  const std::string address = variable("THALWEG_TEST_RENDEZVOUS");
  ASSERT_FALSE(address.empty()) << "run by the tests of faults";
  const std::filesystem::path folder = variable("THALWEG_TEST_FOLDER");
  const std::string name = "worker-" + std::to_string(::getpid());
  auto reporter = std::make_shared<Reporter>();
  reporter->file = folder / (name + ".step");
  reporter->pause = std::chrono::milliseconds(std::stoi(variable("THALWEG_TEST_PAUSE")));
  reporter->reset_at = std::stoll(variable("THALWEG_TEST_RESET"));
  reporter->rendezvous_port = std::stoi(address.substr(address.rfind(':') + 1));
  Model model(two_layers());
  TrainOptions options = train_options(std::stoll(variable("THALWEG_TEST_STEPS")));
  options.callbacks = {reporter};
  comm::GroupOptions member =
      member_of(address, variable("THALWEG_TEST_TCP").empty() ? comm::Path::kAuto : comm::Path::kTcp);
  options.scheme =
      sync::make_scheme({.name = variable("THALWEG_TEST_SCHEME"), .copies = std::stoi(variable("THALWEG_TEST_COPIES"))},
                        comm::Group::join(member));
  Trainer trainer(model, squared_error(), optim::adam(), options);
  trainer.fit(data());
  model.save_weights((folder / (name + ".safetensors")).string());
}

}  // namespace thalweg::testing
