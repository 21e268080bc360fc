// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <memory>

#include "base/status_line.h"
#include "cli/command.h"
#include "cli/worker_process.h"
#include "sync/group_progress.h"
#include "thalweg/comm.h"

namespace thalweg::cli {
namespace {

constexpr int kPollMilliseconds = 50;
/// How long workers may take to end after they were asked to.
constexpr std::chrono::seconds kFarewell{10};

std::atomic<int> caught_signal{0};
void remember_signal(int number) { caught_signal.store(number); }

/// The processors of this program, dealt out in adjacent parts; with fewer than workers, nobody is bound to any.
std::vector<std::vector<int>> split_processors(int workers) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  std::vector<int> all;
  if (::sched_getaffinity(0, sizeof mask, &mask) == 0) {
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(static_cast<size_t>(i), &mask)) all.push_back(i);
    }
  }
  std::vector<std::vector<int>> result(static_cast<size_t>(workers));
  if (all.size() < result.size()) return result;
  for (int i = 0; i < workers; ++i) {
    const comm::Part part = comm::part_of(all.size(), workers, i);
    result[static_cast<size_t>(i)].assign(all.begin() + static_cast<int64_t>(part.begin),
                                          all.begin() + static_cast<int64_t>(part.end));
  }
  return result;
}

class Launch : public Command {
 public:
  CommandDescription describe() const override {
    return {"launch", "start several workers on this host that form a group",
            "thalweg launch -n 4 -- python3 train.py --epochs 3"};
  }

  void add_options(CLI::App& options) override {
    options.add_option("-n,--workers", workers_, "workers to start")->required()->check(CLI::Range(1, 1024));
    options.add_option("--min-workers", least_, "the fewest with which the group goes on [1]")
        ->check(CLI::Range(1, 1024));
    options.add_option("--restarts", restarts_, "how often, in all, workers that fail are started again [100]")
        ->check(CLI::NonNegativeNumber);
    options.add_flag("--no-pin", no_pin_, "do not give each worker processors of its own");
    options.add_flag("--tls", tls_, "encrypt what goes over the network (what stays on one host is in shared memory)");
    options.add_option("command", command_, "the program that a worker runs, and its arguments")->required();
    options.positionals_at_end();
  }

  int run() override {
    if (least_ > workers_) wrong_usage("--min-workers is ", least_, ", but there are only ", workers_);
    secret_ = comm::make_secret();
    rendezvous_ = std::make_unique<comm::Rendezvous>(rendezvous_options());
    std::signal(SIGINT, remember_signal);
    std::signal(SIGTERM, remember_signal);
    processors_ = split_processors(workers_);
    running_.resize(static_cast<size_t>(workers_));
    for (int i = 0; i < workers_; ++i) start(i);
    while (watch()) show_progress();
    show_progress();
    if (!progress_.empty()) status_.line(progress_);
    return outcome_;
  }

 private:
  comm::RendezvousOptions rendezvous_options() const {
    comm::RendezvousOptions options;
    options.secret = secret_;
    options.tls = tls_;
    options.min_size = least_;
    options.max_size = workers_;
    options.settle = std::chrono::seconds(10);
    options.log = [](const std::string& line) { std::fprintf(stderr, "thalweg: launch: %s\n", line.c_str()); };
    for (int i = 0; i < workers_; ++i) options.expected.push_back("worker " + std::to_string(i));
    return options;
  }

  void start(int index) {
    WorkerCommand command;
    command.arguments = command_;
    command.environment = {{"THALWEG_RENDEZVOUS", rendezvous_->address()},
                           {"THALWEG_SECRET", secret_},
                           {"THALWEG_TLS", tls_ ? "1" : "0"},
                           {"THALWEG_WORKER", std::to_string(index)}};
    if (!no_pin_) command.processors = processors_[static_cast<size_t>(index)];
    running_[static_cast<size_t>(index)] = std::make_unique<WorkerProcess>(command);
  }

  /// Hands on what workers print, and looks after those that have ended; false when all is over.
  bool watch() {
    std::vector<pollfd> polled;
    for (const auto& worker : running_) {
      if (worker != nullptr && worker->output() >= 0) polled.push_back({worker->output(), POLLIN, 0});
    }
    ::poll(polled.data(), polled.size(), kPollMilliseconds);
    if (caught_signal.load() != 0) return end_all();
    bool any = false;
    for (int i = 0; i < workers_; ++i) {
      auto& worker = running_[static_cast<size_t>(i)];
      if (worker == nullptr) continue;
      print_lines(i, worker->lines());
      int status = 0;
      if (worker->ended(status)) {
        print_lines(i, worker->lines(true));
        worker.reset();
        after_end(i, status);
      }
      any |= worker != nullptr;
    }
    return any;
  }

  void show_progress() {
    const std::string text = sync::group_progress(rendezvous_->state().members);
    if (text.empty() || text == progress_) return;
    progress_ = text;
    if (status_.due()) status_.update(text);
  }

  static void print_lines(int index, const std::vector<std::string>& lines) {
    for (const std::string& line : lines) std::printf("[%d] %s\n", index, line.c_str());
    std::fflush(stdout);
  }

  void after_end(int index, int status) {
    if (status == 0) return;
    const comm::Rendezvous::State group = rendezvous_->state();
    const bool again = restarts_ > 0 && !group.finished && group.error.empty();
    std::fprintf(stderr, "thalweg: launch: worker %d %s%s\n", index, describe_status(status).c_str(),
                 again ? "; starting it again" : "");
    if (again) {
      --restarts_;
      start(index);
    } else {
      outcome_ = kFailed;
    }
  }

  /// Asks all to end, and makes them after a while.
  bool end_all() {
    const int number = caught_signal.load();
    std::fprintf(stderr, "thalweg: launch: ending the workers (%s)\n", ::strsignal(number));
    for (const auto& worker : running_) {
      if (worker != nullptr) worker->signal(number);
    }
    const auto limit = std::chrono::steady_clock::now() + kFarewell;
    bool any = true;
    while (any && std::chrono::steady_clock::now() < limit) {
      ::poll(nullptr, 0, kPollMilliseconds);
      any = false;
      for (int i = 0; i < workers_; ++i) {
        auto& worker = running_[static_cast<size_t>(i)];
        int status = 0;
        if (worker == nullptr) continue;
        print_lines(i, worker->lines());
        if (worker->ended(status)) worker.reset();
        any |= worker != nullptr;
      }
    }
    running_.clear();
    outcome_ = kFailed;
    return false;
  }

  int workers_ = 1;
  int least_ = 1;
  int restarts_ = 100;
  bool no_pin_ = false;
  bool tls_ = false;
  std::vector<std::string> command_;

  std::string secret_;
  std::unique_ptr<comm::Rendezvous> rendezvous_;
  std::vector<std::vector<int>> processors_;
  std::vector<std::unique_ptr<WorkerProcess>> running_;
  int outcome_ = kDone;
  StatusLine status_{stderr, ::isatty(STDERR_FILENO) == 1};
  /// What is known of the group, kept beyond its end.
  std::string progress_;
};

const RegisterCommand kLaunch([] { return std::make_unique<Launch>(); });

}  // namespace
}  // namespace thalweg::cli
