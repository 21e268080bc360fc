// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#include "base/status_line.h"
#include "cli/command.h"
#include "cli/process_keeper.h"
#include "cli/restarts.h"
#include "cli/worker_process.h"
#include "sync/group_progress.h"
#include "thalweg/comm.h"

namespace thalweg::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPollMilliseconds = 50;
/// How long workers may take to end after they were asked to, or after the group that they are no part of is over.
constexpr std::chrono::seconds kFarewell{10};

std::atomic<int> caught_signal{0};
void remember_signal(int number) { caught_signal.store(number); }
std::atomic<bool> caught_pause{false};
void remember_pause(int /*number*/) { caught_pause.store(true); }

/// Workers have process groups of their own, so that what a terminal sends reaches this program alone, which hands it
/// on.
void catch_signals() {
  std::signal(SIGINT, remember_signal);
  std::signal(SIGTERM, remember_signal);
  std::signal(SIGTSTP, remember_pause);
  // nohup has it ignored.
  if (std::signal(SIGHUP, remember_signal) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
}

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
    options.add_option("-n,--workers", count_, "workers to start")->required()->check(CLI::Range(1, 1024));
    options.add_option("--min-workers", least_, "the fewest with which the group goes on [1]")
        ->check(CLI::Range(1, 1024));
    options.add_option("--restarts", restarts_, "how often, in all, workers that fail are started again [100]")
        ->check(CLI::NonNegativeNumber);
    options
        .add_option("--form-timeout", form_timeout_,
                    "seconds within which the group must form, and form again after a loss [120]")
        ->check(CLI::PositiveNumber);
    options
        .add_option("--settle", settle_,
                    "seconds to wait for more workers after the last one that came, if not all have [10]")
        ->check(CLI::NonNegativeNumber);
    options
        .add_option("--end-timeout", end_timeout_,
                    "seconds that workers may take to end after the group has finished, to save a model or go on by "
                    "themselves, before they are killed [1800]")
        ->check(CLI::PositiveNumber);
    options.add_flag("--no-pin", no_pin_, "do not give each worker processors of its own");
    options.add_flag("--tls", tls_, "encrypt what goes over the network (what stays on one host is in shared memory)");
    options.add_option("command", command_, "the program that a worker runs, and its arguments")->required();
    options.positionals_at_end();
  }

  int run() override {
    if (least_ > count_) wrong_usage("--min-workers is ", least_, ", but there are only ", count_);
    // Before there are threads: it is a fork.
    keeper_ = std::make_unique<ProcessKeeper>();
    secret_ = comm::make_secret();
    // Ends with this call, and its thread with it: commands go only after OpenSSL has tidied up.
    comm::Rendezvous rendezvous(rendezvous_options());
    rendezvous_ = &rendezvous;
    catch_signals();
    processors_ = split_processors(count_);
    workers_.resize(static_cast<size_t>(count_));
    for (int i = 0; i < count_; ++i) start(i);
    while (watch()) show_progress();
    show_progress();
    if (!progress_.empty()) status_.line(progress_);
    return group_has_failed() ? kFailed : outcome_;
  }

 private:
  /// One of the workers, through all its lives.
  struct Worker {
    std::unique_ptr<WorkerProcess> process;
    Clock::time_point started;
    /// When it is to be started again, if it is.
    std::optional<Clock::time_point> start_at;
    /// The group's epoch, and how often this worker had come to it, when the process was started.
    uint64_t epoch = 0;
    int arrivals = 0;
    /// It was told to end, the hard way.
    bool killed = false;
    RestartHistory history;
  };

  comm::RendezvousOptions rendezvous_options() const {
    comm::RendezvousOptions options;
    options.secret = secret_;
    options.tls = tls_;
    options.min_size = least_;
    options.max_size = count_;
    options.settle = std::chrono::duration<double>(settle_);
    options.form_timeout = std::chrono::duration<double>(form_timeout_);
    options.log = [](const std::string& line) { std::fprintf(stderr, "thalweg: launch: %s\n", line.c_str()); };
    for (int i = 0; i < count_; ++i) options.expected.push_back(name_of(i));
    return options;
  }

  /// As comm::options_from_environment names it.
  static std::string name_of(int index) { return "worker " + std::to_string(index); }
  static void say(int index, const std::string& text) {
    std::fprintf(stderr, "thalweg: launch: %s %s\n", name_of(index).c_str(), text.c_str());
  }

  void start(int index) {
    Worker& worker = workers_[static_cast<size_t>(index)];
    WorkerCommand command;
    command.arguments = command_;
    command.environment = {{"THALWEG_RENDEZVOUS", rendezvous_->address()},
                           {"THALWEG_SECRET", secret_},
                           {"THALWEG_TLS", tls_ ? "1" : "0"},
                           {"THALWEG_FORM_TIMEOUT", std::to_string(form_timeout_)},
                           {"THALWEG_WORKER", std::to_string(index)}};
    if (!no_pin_) command.processors = processors_[static_cast<size_t>(index)];
    const comm::Rendezvous::State group = rendezvous_->state();
    worker.epoch = group.epoch;
    worker.arrivals = arrivals(group, index);
    worker.started = Clock::now();
    worker.start_at.reset();
    worker.killed = false;
    worker.process = std::make_unique<WorkerProcess>(command);
    keeper_->keep(worker.process->pid());
  }

  static int arrivals(const comm::Rendezvous::State& group, int index) {
    const auto found = group.arrivals.find(name_of(index));
    return found != group.arrivals.end() ? found->second : 0;
  }

  /// Whether the process belongs to the group's last epoch: one that is older than the process had its predecessor.
  bool is_member(int index) const {
    if (group_.epoch <= workers_[static_cast<size_t>(index)].epoch) return false;
    return std::any_of(group_.members.begin(), group_.members.end(),
                       [&](const comm::Rendezvous::Member& member) { return member.name == name_of(index); });
  }

  /// The group has done its work or cannot: nobody can join any more. One that did not form because no worker has asked
  /// for it does not count: programs need not use the group.
  bool group_is_over() const { return group_.finished || group_has_failed(); }
  bool group_has_failed() const { return !group_.error.empty() && !group_.arrivals.empty(); }

  /// Hands on what workers print, and looks after those that have ended; false when all is over.
  bool watch() {
    std::vector<pollfd> polled;
    for (const Worker& worker : workers_) {
      if (worker.process != nullptr && worker.process->output() >= 0) {
        polled.push_back({worker.process->output(), POLLIN, 0});
      }
    }
    ::poll(polled.data(), polled.size(), kPollMilliseconds);
    if (caught_pause.exchange(false)) pause_all();
    if (const int number = caught_signal.exchange(0); number != 0) return end_all(number, ::strsignal(number));
    group_ = rendezvous_->state();
    if (group_is_over() && !over_since_) over_since_ = Clock::now();
    bool any = false;
    for (int i = 0; i < count_; ++i) any |= look_after(i);
    if (any && count_ - given_up_ < least_) {
      return end_all(SIGTERM, std::to_string(given_up_) + " of " + std::to_string(count_) +
                                  " have failed for good, and the group needs " + std::to_string(least_));
    }
    return any;
  }

  /// False if nothing is left to do for the worker.
  bool look_after(int index) {
    Worker& worker = workers_[static_cast<size_t>(index)];
    if (worker.process != nullptr) {
      if (const auto status = take_output_and_status(index)) {
        after_end(index, *status);
      } else {
        kill_if_overdue(index);
      }
    } else if (worker.start_at && group_is_over()) {
      worker.start_at.reset();
    } else if (worker.start_at && Clock::now() >= *worker.start_at) {
      start(index);
    }
    return worker.process != nullptr || worker.start_at;
  }

  /// What waitpid says of a process that has ended.
  std::optional<int> take_output_and_status(int index) {
    Worker& worker = workers_[static_cast<size_t>(index)];
    print_lines(index, worker.process->lines());
    const pid_t pid = worker.process->pid();
    int status = 0;
    if (!worker.process->ended(status)) return std::nullopt;
    keeper_->release(pid);
    print_lines(index, worker.process->lines(true));
    worker.process.reset();
    return status;
  }

  /// A worker that is stopped or stuck would otherwise keep this program for ever, though the others have done its
  /// work.
  void kill_if_overdue(int index) {
    Worker& worker = workers_[static_cast<size_t>(index)];
    if (!over_since_ || worker.killed) return;
    const bool member = is_member(index);
    const double limit = member ? end_timeout_ : std::chrono::duration<double>(kFarewell).count();
    if (std::chrono::duration<double>(Clock::now() - *over_since_).count() < limit) return;
    char text[160];
    std::snprintf(text, sizeof text, "has not ended within %g s after the group %s: killing it%s", limit,
                  group_.finished ? "had finished" : "had failed", member ? " (--end-timeout gives it longer)" : "");
    say(index, text);
    worker.process->signal(SIGKILL);
    worker.killed = true;
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
    // It may have ended because the group had, and the news came after the last look.
    group_ = rendezvous_->state();
    if (group_is_over()) {
      const bool missed = group_has_failed() || is_member(index);
      if (missed) outcome_ = kFailed;
      return say(index, describe_status(status) + (missed ? "" : "; the group has finished without it"));
    }
    Worker& worker = workers_[static_cast<size_t>(index)];
    const bool joined = arrivals(group_, index) > worker.arrivals;
    const RestartDecision next = worker.history.after_failure({status, joined, Clock::now() - worker.started});
    const bool again = next.again && restarts_ > 0;
    say(index, describe_status(status) + "; " +
                   (next.again && !again ? "--restarts does not allow to start it once more" : next.text));
    if (again) {
      --restarts_;
      worker.start_at = Clock::now() + next.delay;
    } else {
      ++given_up_;
      outcome_ = kFailed;
    }
  }

  /// Stops with all workers, as a terminal's Ctrl-Z wants it, and goes on with them.
  void pause_all() {
    signal_all(SIGSTOP);
    std::raise(SIGSTOP);
    signal_all(SIGCONT);
  }

  void signal_all(int number) const {
    for (const Worker& worker : workers_) {
      if (worker.process != nullptr) worker.process->signal(number);
    }
  }

  /// Asks all to end, and makes them after a while, or when asked once more.
  bool end_all(int number, const std::string& why) {
    std::fprintf(stderr, "thalweg: launch: ending the workers (%s)\n", why.c_str());
    signal_all(number);
    const auto limit = Clock::now() + kFarewell;
    bool any = true;
    while (any && Clock::now() < limit && caught_signal.load() == 0) {
      ::poll(nullptr, 0, kPollMilliseconds);
      any = false;
      for (int i = 0; i < count_; ++i) {
        if (workers_[static_cast<size_t>(i)].process != nullptr) any |= !take_output_and_status(i);
      }
    }
    workers_.clear();
    outcome_ = kFailed;
    return false;
  }

  int count_ = 1;
  int least_ = 1;
  int restarts_ = 100;
  double form_timeout_ = 120;
  double settle_ = 10;
  double end_timeout_ = 1800;
  bool no_pin_ = false;
  bool tls_ = false;
  std::vector<std::string> command_;

  /// Goes after the workers: those that are left when it does would be killed.
  std::unique_ptr<ProcessKeeper> keeper_;
  std::string secret_;
  /// While the command runs.
  comm::Rendezvous* rendezvous_ = nullptr;
  std::vector<std::vector<int>> processors_;
  std::vector<Worker> workers_;
  /// At the last look.
  comm::Rendezvous::State group_;
  std::optional<Clock::time_point> over_since_;
  /// Workers that failed and are not started again.
  int given_up_ = 0;
  int outcome_ = kDone;
  StatusLine status_{stderr, ::isatty(STDERR_FILENO) == 1};
  /// What is known of the group, kept beyond its end.
  std::string progress_;
};

const RegisterCommand kLaunch([] { return std::make_unique<Launch>(); });

}  // namespace
}  // namespace thalweg::cli
