// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <poll.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>

#include "cli/caught_signals.h"
#include "cli/command.h"
#include "cli/launch_console.h"
#include "cli/open_files.h"
#include "cli/process_keeper.h"
#include "cli/processors.h"
#include "cli/restarts.h"
#include "cli/seconds_option.h"
#include "cli/worker_process.h"
#include "sync/group_progress.h"
#include "thalweg/comm.h"

namespace thalweg::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPollMilliseconds = 50;
/// How long workers may take to end after they were asked to, or after the group that they are no part of is over.
constexpr std::chrono::seconds kFarewell{10};

/// What a worker printed last, should it be worth repeating.
constexpr size_t kLastLines = 3;

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
        ->check(seconds_of_at_least(0.1));
    options
        .add_option("--settle", settle_,
                    "seconds to wait for more workers after the last one that came, if not all have [10]")
        ->check(seconds_of_at_least(0));
    options
        .add_option("--end-timeout", end_timeout_,
                    "seconds that workers may take to end after the group has finished, to save a model or go on by "
                    "themselves, before they are killed [1800]")
        ->check(seconds_of_at_least(0.1));
    options.add_option(
        "--address", address_,
        "host:port where workers meet, if they reach this host by another name; port 0: any [127.0.0.1:0]");
    options.add_flag("--no-pin", no_pin_, "do not give each worker processors of its own");
    options.add_flag("--tls", tls_, "encrypt what goes over the network (what stays on one host is in shared memory)");
    options.add_option("command", command_, "the program that a worker runs, and its arguments")->required();
    options.positionals_at_end();
  }

  int run() override {
    if (least_ > count_) wrong_usage("--min-workers is ", least_, ", but there are only ", count_);
    // A document for programs goes to stdout alone.
    if (json()) console_.send_lines_to(stderr);
    worker_files_ = allow_open_files_for(count_);
    // Before there are threads: it is a fork.
    keeper_ = std::make_unique<ProcessKeeper>();
    secret_ = comm::make_secret();
    // Ends with this call, and its thread with it: commands go only after OpenSSL has tidied up.
    comm::Rendezvous rendezvous(rendezvous_options());
    rendezvous_ = &rendezvous;
    // Workers have process groups of their own, so that what a terminal sends reaches this program alone, which hands
    // it on.
    catch_signals();
    split_processors();
    workers_.resize(static_cast<size_t>(count_));
    for (int i = 0; i < count_; ++i) start(i);
    while (watch()) show_progress();
    return finish();
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
    /// The last epoch that the process has taken part in; that in which it was started if there is none.
    uint64_t last_epoch = 0;
    /// It was told to end, the hard way.
    bool killed = false;
    RestartHistory history;
    std::deque<std::string> last_lines;
  };

  void split_processors() {
    const std::vector<int> all = usable_processors();
    processors_ = deal_processors(all, count_);
    shares_processors_ = !all.empty() && all.size() < processors_.size();
    if (!shares_processors_) return;
    console_.say(std::to_string(count_) + " workers share " + std::to_string(all.size()) + " processor" +
                 (all.size() > 1 ? "s" : "") + (no_pin_ ? "" : ", each runs on one of them"));
  }

  /// The last words, and what the program ends with.
  int finish() {
    group_ = rendezvous_->state();
    console_.print_notes();
    futile_.note_step(sync::group_step(group_.members));
    const std::string& progress = progress_of(group_.members);
    if (shows_group() && !progress.empty()) console_.end(progress);
    if (!last_words_.empty()) console_.say(last_words_);
    const int code = group_has_failed() ? kFailed : outcome_;
    if (json()) print(report(code), [](const Json& /*report*/) { return std::string(); });
    return code;
  }

  Json report(int code) const {
    return {{"done", code == kDone},
            {"workers", count_},
            {"epochs", group_.epoch},
            {"steps", futile_.furthest_step()},
            {"restarts", restarts_made_}};
  }

  /// As with other commands, who wants a document for programs gets no lines for people unless they are asked for.
  bool shows_group() const { return !json() || shows_progress(); }

  comm::RendezvousOptions rendezvous_options() {
    comm::RendezvousOptions options;
    options.secret = secret_;
    if (!address_.empty()) options.address = address_;
    options.tls = tls_;
    options.min_size = least_;
    options.max_size = count_;
    options.settle = std::chrono::duration<double>(settle_);
    options.form_timeout = std::chrono::duration<double>(form_timeout_);
    // Not `say`: the group must not stand still while nobody reads what workers print.
    options.log = [this](const std::string& line) { console_.note(line); };
    for (int i = 0; i < count_; ++i) options.expected.push_back(name_of(i));
    return options;
  }

  /// As comm::options_from_environment names it.
  static std::string name_of(int index) { return "worker " + std::to_string(index); }
  void say(int index, const std::string& text) { console_.say(name_of(index) + " " + text); }

  void start(int index) {
    Worker& worker = workers_[static_cast<size_t>(index)];
    WorkerCommand command;
    command.arguments = command_;
    command.environment = {{"THALWEG_RENDEZVOUS", rendezvous_->address()},
                           {"THALWEG_SECRET", secret_},
                           {"THALWEG_TLS", tls_ ? "1" : "0"},
                           {"THALWEG_FORM_TIMEOUT", std::to_string(form_timeout_)},
                           {"THALWEG_WORKER", std::to_string(index)}};
    command.open_files = worker_files_;
    command.keeper = &*keeper_;
    if (!no_pin_) command.processors = processors_[static_cast<size_t>(index)];
    const comm::Rendezvous::State group = rendezvous_->state();
    worker.epoch = worker.last_epoch = group.epoch;
    worker.arrivals = arrivals(group, index);
    worker.started = Clock::now();
    worker.start_at.reset();
    worker.killed = false;
    worker.last_lines.clear();
    worker.process = std::make_unique<WorkerProcess>(command);
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
    if (is_futile_) return end_all(SIGTERM, "starting workers again does not help");
    if (any && count_ - given_up_ < least_) {
      return end_all(SIGTERM, std::to_string(given_up_) + " of " + std::to_string(count_) +
                                  " have failed for good, and the group needs " + std::to_string(least_));
    }
    return any;
  }

  /// False if nothing is left to do for the worker.
  bool look_after(int index) {
    Worker& worker = workers_[static_cast<size_t>(index)];
    if (is_member(index)) worker.last_epoch = group_.epoch;
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
    hand_on(worker.process->lines(), index);
    const pid_t pid = worker.process->pid();
    int status = 0;
    if (!worker.process->ended(status)) return std::nullopt;
    keeper_->release(pid);
    hand_on(worker.process->lines(true), index);
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
    console_.print_notes();
    const std::vector<comm::Rendezvous::Member> members = rendezvous_->state().members;
    futile_.note_step(sync::group_step(members));
    if (!shows_group()) return;
    const std::string& progress = progress_of(members);
    if (!progress.empty()) console_.show(progress);
  }

  /// What was known last, if the members, as those of a new epoch, have not said anything yet.
  const std::string& progress_of(const std::vector<comm::Rendezvous::Member>& members) {
    const std::string text = sync::group_progress(members, console_.progress_width());
    if (!text.empty()) progress_ = text;
    return progress_;
  }

  void hand_on(const std::vector<std::string>& lines, int index) {
    console_.print_lines(index, lines);
    std::deque<std::string>& last = workers_[static_cast<size_t>(index)].last_lines;
    for (const std::string& line : lines) {
      if (!line.empty()) last.push_back(line);
      if (last.size() > kLastLines) last.pop_front();
    }
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
    const Clock::time_point now = Clock::now();
    const bool joined = arrivals(group_, index) > worker.arrivals;
    // Others may have gone on before this process had ended.
    if (is_member(index)) worker.last_epoch = group_.epoch;
    const WorkerFailure failure{status, joined, now - worker.started, worker.last_epoch};
    futile_.note_step(sync::group_step(group_.members));
    if (futile_.after_failure(failure, now)) return give_up_the_group(index, status);
    const RestartDecision next = worker.history.after_failure(failure);
    const bool again = next.again && restarts_ > 0;
    say(index, describe_status(status) + "; " +
                   (next.again && !again ? "--restarts does not allow to start it once more" : next.text));
    if (again) {
      --restarts_;
      ++restarts_made_;
      worker.start_at = now + next.delay;
    } else {
      ++given_up_;
      outcome_ = kFailed;
    }
  }

  /// For a failure that every attempt would meet.
  void give_up_the_group(int index, int status) {
    const int64_t step = futile_.furthest_step();
    const std::string attempts = std::to_string(futile_.count()) + " attempts in a row have failed" +
                                 (step > 0 ? ", none beyond step " + std::to_string(step) : "");
    say(index, describe_status(status) + "; " + attempts + ": nobody is started again");
    last_words_ = attempts + ", and another would end in the same way. " + name_of(index) + " said last:";
    for (const std::string& line : workers_[static_cast<size_t>(index)].last_lines) last_words_ += "\n  " + line;
    is_futile_ = true;
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
    console_.say("ending the workers (" + why + ")");
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
  std::string address_;
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
  LaunchConsole console_;
  std::string progress_;
  /// How many files a worker may have open.
  std::optional<rlimit> worker_files_;
  bool shares_processors_ = false;
  FutileAttempts futile_;
  bool is_futile_ = false;
  int restarts_made_ = 0;
  /// What is to be read last, if anything is.
  std::string last_words_;
};

const RegisterCommand kLaunch([] { return std::make_unique<Launch>(); });

}  // namespace
}  // namespace thalweg::cli
