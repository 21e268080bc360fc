// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// What the processes of FaultRun run. For one source file of a test program: it starts itself.

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <optional>
#include <sstream>

#include "sync/faults.h"

namespace thalweg::testing {

/// Waits until a long message is under way between this worker and a peer, and resets their connection.
class ConnectionReset {
 public:
  /// `done` is a file that appears after the deed.
  ConnectionReset(int rendezvous_port, std::filesystem::path done)
      : rendezvous_port_(rendezvous_port), done_(std::move(done)), thread_([this] { watch(); }) {}
  ~ConnectionReset() {
    stop_ = true;
    thread_.join();
  }
  ConnectionReset(const ConnectionReset&) = delete;
  ConnectionReset& operator=(const ConnectionReset&) = delete;

 private:
  /// More than any message but gradients has.
  static constexpr int kLongMessage = 64 << 10;

  void watch() {
    while (!stop_) {
      for (int descriptor = 3; descriptor < 256; ++descriptor) {
        if (!leads_to_peer(descriptor) || bytes_under_way(descriptor) < kLongMessage) continue;
        reset(descriptor);
        std::ofstream(done_) << "done";
        return;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  bool leads_to_peer(int descriptor) const {
    sockaddr_in6 peer{};
    socklen_t size = sizeof peer;
    if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return false;
    const bool tcp = peer.sin6_family == AF_INET6 || peer.sin6_family == AF_INET;
    return tcp && ntohs(peer.sin6_port) != rendezvous_port_;
  }
  /// What the peer has not got yet, or this process has not read yet: it is lost by a reset.
  static int bytes_under_way(int descriptor) {
    int unsent = 0, unread = 0;
    if (::ioctl(descriptor, SIOCOUTQ, &unsent) != 0 || ::ioctl(descriptor, SIOCINQ, &unread) != 0) return 0;
    return std::max(unsent, unread);
  }
  /// To close the socket with SO_LINGER at 0 would send the same RST, but free its number under the thread that uses
  /// it. Not by the library's function: the thread sanitizer would take that for the making of another socket.
  static void reset(int descriptor) {
    sockaddr nobody{};
    nobody.sa_family = AF_UNSPEC;
    ::syscall(SYS_connect, descriptor, &nobody, sizeof nobody);
  }

  int rendezvous_port_;
  std::filesystem::path done_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

inline std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}
inline int number(const char* name) { return std::stoi(variable(name)); }

/// Tells the test how far this worker is, takes its time, and has a connection reset when told to.
struct Reporter : Callback {
  std::filesystem::path folder;
  std::string name;
  std::chrono::milliseconds pause{0}, short_handed_pause{0};
  int full_size = 0;
  std::shared_ptr<comm::Group> group;
  int64_t reset_at = 0;
  int rendezvous_port = 0;
  std::optional<ConnectionReset> reset;
  void on_step(const TrainState& state) override {
    write("step", state.progress.iteration);
    if (!std::filesystem::exists(folder / (name + ".first"))) write("first", state.progress.iteration);
    if (state.progress.iteration == reset_at) reset.emplace(rendezvous_port, folder / "reset");
    std::this_thread::sleep_for(group->size() < full_size ? short_handed_pause : pause);
    if (state.progress.iteration >= quick_steps()) std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  /// What FaultRun::let_run_to has said last.
  int64_t quick_steps() const {
    int64_t steps = 0;
    std::ifstream(folder / "quick-steps") >> steps;
    return steps;
  }
  void write(const std::string& kind, int64_t value) const {
    const std::filesystem::path file = folder / (name + "." + kind), next = file.string() + ".new";
    std::ofstream(next) << value;
    std::filesystem::rename(next, file);
  }
};

/// What the processes run.
TEST(FaultWorker, DISABLED_Train) {
  const std::string address = variable("THALWEG_TEST_RENDEZVOUS");
  ASSERT_FALSE(address.empty()) << "run by the tests of faults";
  FaultJob job;
  job.steps = number("THALWEG_TEST_STEPS");
  job.hidden = number("THALWEG_TEST_HIDDEN");
  auto reporter = std::make_shared<Reporter>();
  reporter->folder = variable("THALWEG_TEST_FOLDER");
  reporter->name = "worker-" + std::to_string(::getpid());
  reporter->pause = std::chrono::milliseconds(number("THALWEG_TEST_PAUSE"));
  reporter->short_handed_pause = std::chrono::milliseconds(number("THALWEG_TEST_SHORT_HANDED"));
  reporter->full_size = number("THALWEG_TEST_WORKERS");
  reporter->reset_at = number("THALWEG_TEST_RESET");
  reporter->rendezvous_port = std::stoi(address.substr(address.rfind(':') + 1));
  if (const std::string momentum = variable("THALWEG_TEST_MOMENTUM"); !momentum.empty()) {
    job.momentum = std::stod(momentum);
    job.rate = std::stod(variable("THALWEG_TEST_RATE"));
  }
  Model model(two_layers(job.hidden));
  TrainOptions options = job.train_options();
  options.callbacks = {reporter};
  const comm::Path path = number("THALWEG_TEST_TCP") == 1 ? comm::Path::kTcp : comm::Path::kAuto;
  reporter->group = comm::Group::join(member_of(address, path));
  sync::SchemeOptions scheme{.name = variable("THALWEG_TEST_SCHEME"),
                             .compression = variable("THALWEG_TEST_COMPRESSION")};
  std::istringstream given(variable("THALWEG_TEST_OPTIONS"));
  for (std::string one; given >> one;) {
    scheme.options[one.substr(0, one.find('='))] = std::stod(one.substr(one.find('=') + 1));
  }
  for (const sync::Preset& preset : sync::presets()) {
    for (const sync::OptionInfo& option : preset.options) {
      if (preset.name == scheme.name && option.name == "copies")
        scheme.options["copies"] = number("THALWEG_TEST_COPIES");
    }
  }
  options.scheme = sync::make_scheme(scheme, reporter->group);
  const std::string checkpoints = (reporter->folder / "checkpoints").string();
  if (const int every = number("THALWEG_TEST_CHECKPOINTS"); every > 0) {
    options.checkpoints = {.directory = checkpoints, .when = optim::several_iterations(every)};
  }
  Trainer trainer(model, squared_error(), job.optimizer(), options);
  if (Trainer::can_resume(checkpoints)) trainer.resume(checkpoints);
  trainer.fit(FaultJob::data());
  model.save_weights((reporter->folder / (reporter->name + ".safetensors")).string());
}

}  // namespace thalweg::testing
