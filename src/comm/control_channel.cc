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
constexpr std::chrono::seconds kFarewell{1};
constexpr const char* kToldToLeave = "this member was told to leave the group";

}  // namespace

ControlChannel::ControlChannel(const GroupOptions& options, MemberInfo info, int port, const Deadline& deadline)
    : options_(options), info_(std::move(info)), port_(port), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
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
  try {
    obey(RendezvousMessage::from_json(message));
  } catch (const Error& error) {
    give_up(std::string("the rendezvous sent nonsense: ") + error.what());
  }
  changed_.notify_all();
}

void ControlChannel::obey(RendezvousMessage message) {
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
    case RendezvousMessage::Kind::kFinished: give_up("the job has ended"); break;
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

std::shared_ptr<ControlChannel::Epoch> ControlChannel::next(uint64_t epoch, const std::string& failure,
                                                            const Deadline& deadline) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (epoch > 0 && epoch_ != nullptr && epoch_->view.epoch == epoch) {
    pending_ready_ = {{"type", "ready"}, {"epoch", epoch}, {"failure", failure}};
    outgoing_.push_back(pending_ready_);
    wake();
  }
  const auto come = [&] { return !error_.empty() || (epoch_ != nullptr && epoch_->view.epoch > epoch); };
  while (!come()) {
    TW_REQUIRE(!cancelled(), kToldToLeave);
    TW_REQUIRE(!deadline.expired(), "epoch ", epoch + 1, " of the group at ", options_.rendezvous,
               " did not begin within ", deadline.elapsed(), " s",
               trouble_.empty() ? "" : "; the rendezvous does not answer: ", trouble_);
    changed_.wait_for(lock, std::min<std::chrono::nanoseconds>(deadline.remaining(), std::chrono::milliseconds(100)));
  }
  if (seat_taken_) throw SeatTaken(error_);
  TW_REQUIRE(error_.empty(), error_);
  return epoch_;
}

void ControlChannel::finish() { say_last({{"type", "finish"}}); }
void ControlChannel::fail(const std::string& why) { say_last({{"type", "fail"}, {"why", why}}); }

void ControlChannel::say_last(json message) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!status_.empty()) outgoing_.push_back({{"type", "beat"}, {"status", std::exchange(status_, "")}});
  outgoing_.push_back(std::move(message));
  sending_ = true;
  wake();
  changed_.wait_for(lock, kFarewell, [&] { return outgoing_.empty() && !sending_; });
}

void ControlChannel::wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

}  // namespace thalweg::comm
