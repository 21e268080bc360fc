// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/control_channel.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>

#include "comm/socket.h"

namespace thalweg::comm {
namespace {

using nlohmann::json;

/// For one attempt to connect, and between two.
constexpr std::chrono::seconds kAttempt{5};
constexpr std::chrono::milliseconds kPause{50};
/// How long last words wait for a connection, and where there is one, for the rendezvous to have heard them.
constexpr std::chrono::seconds kFarewell{1};
constexpr std::chrono::seconds kHearing{5};
constexpr const char* kToldToLeave = "this member was told to leave the group";

}  // namespace

ControlChannel::ControlChannel(const GroupOptions& options, MemberInfo info, int port, const Deadline& deadline,
                               bool preparing)
    : options_(options),
      info_(std::move(info)),
      port_(port),
      preparing_(preparing),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  std::string error;
  std::optional<Connection> connection = connect(deadline, error);
  TW_REQUIRE(connection, "cannot join the group at ", options_.rendezvous, ": ", error, ", after ", deadline.elapsed(),
             " s");
  introduce(*connection);
  thread_ = std::thread([this, first = std::make_shared<Connection>(std::move(*connection))] {
    talk(*first);
    run();
  });
}

ControlChannel::~ControlChannel() {
  stop_.store(true);
  wake();
  thread_.join();
}

std::optional<Connection> ControlChannel::connect(const Deadline& deadline, std::string& error) {
  const auto connect_once = [&](std::string& why) {
    return connect_tcp(Address::parse(options_.rendezvous), deadline, why);
  };
  std::unique_ptr<Link> link = connect_link(connect_once, {options_.secret, options_.tls}, deadline, error);
  if (link == nullptr) return std::nullopt;
  say_where(own_address(link->descriptor()));
  return Connection(std::move(link));
}

void ControlChannel::say_where(const std::string& seen) {
  const auto with_port = [&](const std::string& host) { return host.empty() ? "" : Address{host, port_}.text(); };
  info_.address = with_port(options_.address.empty() ? seen : options_.address);
  info_.outside = with_port(options_.address.empty() && is_loopback(seen) ? outside_address() : "");
}

void ControlChannel::introduce(Connection& connection) {
  json message = {{"type", "join"}, {"member", info_.to_json()}};
  if (preparing_) message["preparing"] = true;
  json ready;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (epoch_ != nullptr) message["view"] = epoch_->view.to_json();
    ready = pending_ready_;
  }
  connection.send(message);
  if (!ready.is_null()) connection.send(ready);
}

void ControlChannel::run() {
  while (!stop_.load()) {
    std::string error;
    std::optional<Connection> connection = connect(Deadline(kAttempt).unless(stop_), error);
    if (connection) {
      introduce(*connection);
      talk(*connection);
    } else {
      const std::lock_guard<std::mutex> lock(mutex_);
      trouble_ = error;
    }
    if (cancelled()) give_up(kToldToLeave);
    std::this_thread::sleep_for(kPause);
  }
}

void ControlChannel::talk(Connection& connection) {
  set_connected(true);
  converse(connection);
  set_connected(false);
}

void ControlChannel::set_connected(bool connected) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    connected_ = connected;
    // Of what was under way when the connection broke nobody will say that it was heard.
    if (!connected && outgoing_.empty()) unheard_ = 0;
  }
  changed_.notify_all();
}

void ControlChannel::converse(Connection& connection) {
  const auto pulse = std::chrono::duration_cast<std::chrono::milliseconds>(options_.silence / 4);
  auto next_beat = std::chrono::steady_clock::now();
  while (connection.error().empty()) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (; !outgoing_.empty(); outgoing_.pop_front()) connection.send(outgoing_.front());
      if (connection.flush()) sending_ = false;
    }
    changed_.notify_all();
    if (stop_.load()) return;
    if (cancelled()) give_up(kToldToLeave);
    const auto now = std::chrono::steady_clock::now();
    if (now >= next_beat) {
      connection.send(sign_of_life());
      next_beat = now + pulse;
    }
    pollfd polled[] = {
        {connection.descriptor(), static_cast<short>(POLLIN | (connection.wants_to_write() ? POLLOUT : 0)), 0},
        {wake_.get(), POLLIN, 0}};
    ::poll(polled, 2, static_cast<int>(pulse.count()));
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t drained = ::read(wake_.get(), &count, sizeof count);
    while (auto message = connection.receive()) handle(*message);
  }
}

json ControlChannel::sign_of_life() {
  json beat = {{"type", "beat"}};
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!status_.empty()) beat["status"] = std::exchange(status_, "");
  return beat;
}

void ControlChannel::set_status(const std::string& status) {
  TW_REQUIRE(status.size() <= kMostStatusBytes, "the status of a member has ", status.size(), " bytes, at most ",
             kMostStatusBytes, " are taken");
  const std::lock_guard<std::mutex> lock(mutex_);
  status_ = status;
}

void ControlChannel::handle(const json& message) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    heard_ = std::chrono::steady_clock::now();
  }
  try {
    obey(RendezvousMessage::from_json(message));
  } catch (const Error& error) {
    give_up(std::string("the rendezvous sent nonsense: ") + error.what());
  }
  changed_.notify_all();
}

void ControlChannel::obey(RendezvousMessage message) {
  const auto set = [&](bool& flag) {
    const std::lock_guard<std::mutex> lock(mutex_);
    flag = true;
  };
  switch (message.kind) {
    case RendezvousMessage::Kind::kView: {
      auto next = std::make_shared<Epoch>();
      next->view = std::move(message.view);
      const std::lock_guard<std::mutex> lock(mutex_);
      epoch_ = std::move(next);
      pending_ready_ = nullptr;
      newcomers_.store(false);
      break;
    }
    case RendezvousMessage::Kind::kOver: end_epoch(message.epoch, message.why); break;
    case RendezvousMessage::Kind::kWaiting: newcomers_.store(true); break;
    case RendezvousMessage::Kind::kFailed: give_up(message.why); break;
    case RendezvousMessage::Kind::kTaken: {
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        seat_taken_ = true;
      }
      give_up(message.why);
      break;
    }
    case RendezvousMessage::Kind::kFinished: {
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        job_ended_ = true;
      }
      give_up("the job has ended");
      break;
    }
    case RendezvousMessage::Kind::kAlive: break;
    case RendezvousMessage::Kind::kSeated: set(seated_); break;
    case RendezvousMessage::Kind::kHandOver: set(asked_for_result_); break;
    case RendezvousMessage::Kind::kAccepted: set(result_accepted_); break;
    case RendezvousMessage::Kind::kHeard: {
      const std::lock_guard<std::mutex> lock(mutex_);
      unheard_ = std::max(0, unheard_ - 1);
      break;
    }
  }
}

void ControlChannel::end_epoch(uint64_t number, const std::string& why) {
  std::shared_ptr<Communicator> communicator;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (epoch_ == nullptr || epoch_->view.epoch != number || epoch_->over.load()) return;
    epoch_->why = why;
    epoch_->over.store(true);
    communicator = epoch_->communicator;
  }
  if (communicator != nullptr) communicator->abort(why);
}

void ControlChannel::watch(Epoch& epoch, std::shared_ptr<Communicator> communicator) {
  std::string why;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    epoch.communicator = communicator;
    if (!epoch.over.load()) return;
    why = epoch.why;
  }
  communicator->abort(why);
}

void ControlChannel::give_up(const std::string& why) {
  uint64_t number = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (error_.empty()) error_ = why;
    if (epoch_ != nullptr) number = epoch_->view.epoch;
  }
  end_epoch(number, why);
}

template <typename Condition>
void ControlChannel::wait_for(std::unique_lock<std::mutex>& lock, const std::string& what, const Condition& come) {
  const auto begin = std::chrono::steady_clock::now();
  while (!come()) {
    TW_REQUIRE(!cancelled(), kToldToLeave);
    const std::chrono::duration<double> silent = std::chrono::steady_clock::now() - std::max(begin, heard_);
    TW_REQUIRE(silent < options_.form_timeout, what, ": the rendezvous at ", options_.rendezvous,
               " has not answered for ", silent.count(), " s", trouble_.empty() ? "" : ": ", trouble_);
    changed_.wait_for(lock, std::chrono::milliseconds(100));
  }
}

void ControlChannel::check_error() const {
  if (seat_taken_) throw SeatTaken(error_);
  if (job_ended_) throw JobEnded(error_);
  TW_REQUIRE(error_.empty(), error_);
}

void ControlChannel::await_seat() {
  std::unique_lock<std::mutex> lock(mutex_);
  wait_for(lock, "waiting for a seat", [&] { return !error_.empty() || seated_; });
  check_error();
}

bool ControlChannel::hands_over() {
  std::unique_lock<std::mutex> lock(mutex_);
  // That the job has ended is not the end for a member that was part of it.
  const auto failed = [&] { return !error_.empty() && !job_ended_; };
  wait_for(lock, "waiting until what was trained has been handed over",
           [&] { return failed() || asked_for_result_ || result_accepted_; });
  TW_REQUIRE(!failed(), error_);
  return !result_accepted_;
}

std::shared_ptr<ControlChannel::Epoch> ControlChannel::next(uint64_t epoch, const std::string& failure,
                                                            const std::string& unreachable) {
  std::unique_lock<std::mutex> lock(mutex_);
  const bool leaves = epoch > 0 && epoch_ != nullptr && epoch_->view.epoch == epoch;
  if (leaves || (epoch == 0 && preparing_)) {
    pending_ready_ = {{"type", "ready"}, {"epoch", epoch}, {"failure", failure}, {"unreachable", unreachable}};
    outgoing_.push_back(pending_ready_);
    wake();
  }
  const auto come = [&] { return !error_.empty() || (epoch_ != nullptr && epoch_->view.epoch > epoch); };
  wait_for(lock, "epoch " + std::to_string(epoch + 1) + " of the group did not begin", come);
  check_error();
  return epoch_;
}

void ControlChannel::finish() { say_last({{"type", "finish"}}); }
void ControlChannel::fail(const std::string& why) { say_last({{"type", "fail"}, {"why", why}}); }

void ControlChannel::say_last(json message) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!status_.empty()) outgoing_.push_back({{"type", "beat"}, {"status", std::exchange(status_, "")}});
  outgoing_.push_back(std::move(message));
  sending_ = true;
  ++unheard_;
  wake();
  const auto heard = [&] { return unheard_ == 0; };
  if (changed_.wait_for(lock, kFarewell, heard) || !connected_) return;
  changed_.wait_for(lock, kHearing - kFarewell, heard);
}

void ControlChannel::wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

}  // namespace thalweg::comm
