// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/trial/scheme_run.h"

#include <poll.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "cli/caught_signals.h"
#include "cli/trial/summary.h"
#include "cli/trial/worker.h"

namespace thalweg::cli {
namespace {

constexpr int kPollMilliseconds = 100;
/// For the launcher to end its workers in, which it gives 10 s.
constexpr double kFarewell = 15;
/// For workers to agree on the end, to exchange what is left and to score the result.
constexpr double kEnding = 300;
constexpr size_t kLinesKept = 40;
/// When a worker is killed, as a share of the time.
constexpr double kKillAt = 1.0 / 3;

std::string own_program() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  TW_REQUIRE(!error, "cannot find this program: ", error.message());
  return path.string();
}

}  // namespace

SchemeRun::SchemeRun(const TrialPlan& plan, std::string scheme, std::filesystem::path folder)
    : plan_(plan), folder_(std::move(folder)), reader_(folder_) {
  traces_.scheme = std::move(scheme);
}

void SchemeRun::start() {
  std::filesystem::create_directories(folder_);
  write_orders({plan_.slowness, plan_.networks, plan_.score_samples}, folder_);
  const std::string program = own_program();
  // A worker that fails makes the scheme one that does, unless it is killed on purpose.
  const int least = std::max(1, plan_.workers - (plan_.kill ? 1 : 0));
  WorkerCommand command;
  command.arguments = {program,
                       "launch",
                       "-n",
                       std::to_string(plan_.workers),
                       "--min-workers",
                       std::to_string(least),
                       "--restarts",
                       plan_.kill ? "3" : "0",
                       "--form-timeout",
                       std::to_string(plan_.start_seconds)};
  if (!plan_.address.empty()) command.arguments.insert(command.arguments.end(), {"--address", plan_.address + ":0"});
  command.arguments.insert(command.arguments.end(), {"--", program, "train", plan_.job, "--trial", folder_.string()});
  for (const std::string& override : plan_.overrides) {
    command.arguments.insert(command.arguments.end(), {"--set", override});
  }
  command.arguments.insert(command.arguments.end(), {"--set", "scheme.name=" + traces_.scheme});
  launcher_ = std::make_unique<WorkerProcess>(command);
  started_at_ = trace_clock();
}

SchemeTraces SchemeRun::run(const std::function<void(const SchemeTraces&)>& watch) {
  start();
  while (!look()) {
    watch(traces_);
    pollfd output{launcher_->output(), POLLIN, 0};
    ::poll(&output, launcher_->output() >= 0 ? 1 : 0, kPollMilliseconds);
    if (const int number = caught_signal.load(); number != 0) {
      end_launcher();
      throw TrialInterrupted(std::string("stopped (") + ::strsignal(number) + ")");
    }
  }
  return traces_;
}

bool SchemeRun::look() {
  read_output(false);
  int status = 0;
  const bool ended = launcher_->ended(status);
  reader_.read();
  traces_.workers = reader_.traces();
  if (ended) {
    read_output(true);
    after_end(status);
    return true;
  }
  const double now = trace_clock();
  if (!trains_since_) {
    if (!traces_.workers.empty() && !traces_.workers[0].records.empty()) trains_since_ = now;
    if (trains_since_ || now - started_at_ < 2 * plan_.start_seconds) return false;
    fail("its workers did not begin to train within " + std::to_string(std::lround(now - started_at_)) + " s");
    end_launcher();
    return true;
  }
  if (traces_.stopped_at > 0) {
    if (now - traces_.stopped_at < kEnding) return false;
    fail("it did not end within " + std::to_string(std::lround(kEnding)) + " s");
    end_launcher();
    return true;
  }
  if (plan_.kill && !traces_.killed_at && now - *trains_since_ >= kKillAt * plan_.seconds) kill_one();
  const bool reached = plan_.target_loss && has_reached(traces_, *plan_.target_loss, plan_.seconds);
  if (reached || now - *trains_since_ >= plan_.seconds) tell_to_stop();
  return false;
}

void SchemeRun::after_end(int status) {
  if (status != 0) {
    fail(last_words());
    traces_.refused = traces_.stopped_at == 0 && std::none_of(traces_.workers.begin(), traces_.workers.end(),
                                                              [](const auto& one) { return !one.records.empty(); });
  } else if (traces_.stopped_at == 0) {
    fail("it ended before it was told to");
  } else if (traces_.workers.empty()) {
    fail("its workers have told nothing");
  }
}

void SchemeRun::kill_one() {
  const auto last = std::max_element(traces_.workers.begin(), traces_.workers.end(),
                                     [](const auto& a, const auto& b) { return a.worker < b.worker; });
  // It is a child of the launcher's, which has not waited for it: its number is nobody else's.
  ::kill(last->pid, SIGKILL);
  traces_.killed_at = trace_clock();
  traces_.killed_worker = last->worker;
}

void SchemeRun::tell_to_stop() {
  std::ofstream(folder_ / "stop") << "stop\n";
  traces_.stopped_at = trace_clock();
}

void SchemeRun::read_output(bool rest) {
  for (std::string& line : launcher_->lines(rest)) {
    lines_.push_back(std::move(line));
    if (lines_.size() > kLinesKept) lines_.pop_front();
  }
}

void SchemeRun::end_launcher() {
  const auto wait = [&](double seconds) {
    int status = 0;
    for (const double end = trace_clock() + seconds; trace_clock() < end;) {
      if (launcher_->ended(status)) return true;
      read_output(false);
      ::poll(nullptr, 0, kPollMilliseconds);
    }
    return false;
  };
  launcher_->signal(SIGTERM);
  if (!wait(kFarewell)) launcher_->signal(SIGKILL);
  launcher_.reset();
}

std::string SchemeRun::last_words() const {
  const auto after = [](const std::string& line, const std::string& sign) {
    const size_t at = line.find(sign);
    return at != std::string::npos ? line.substr(at + sign.size()) : "";
  };
  // Who was killed says nothing, and what the others have to say of it is not why.
  for (const std::string& line : lines_) {
    if (line.find("was killed by signal") != std::string::npos) return after(line, "thalweg: launch: ");
  }
  // What a worker has to say of itself counts for more than what the launcher has to say of its end.
  for (const char* sign : {"thalweg: train: ", "thalweg: launch: "}) {
    for (auto line = lines_.rbegin(); line != lines_.rend(); ++line) {
      if (const std::string words = after(*line, sign); !words.empty()) return words;
    }
  }
  return lines_.empty() ? "its workers ended without a word" : lines_.back();
}

void SchemeRun::fail(const std::string& what) { traces_.failure = what; }

}  // namespace thalweg::cli
