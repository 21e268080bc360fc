// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/eventfd.h>

#include <cstdio>
#include <list>
#include <map>
#include <mutex>
#include <thread>

#include "base/text.h"
#include "comm/connection.h"
#include "comm/control_messages.h"
#include "comm/socket.h"
#include "comm/strangers.h"

namespace thalweg::comm {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int kTickMilliseconds = 50;

void log_to_stderr(const std::string& text) { std::fprintf(stderr, "thalweg: rendezvous: %s\n", text.c_str()); }

struct Client {
  Connection connection;
  std::string peer;
  /// Empty until it has joined.
  std::string id;
  std::string name;
  Clock::time_point heard;
  /// It waits to be told that its last words were heard.
  bool awaits_answer = false;
};

}  // namespace

class Rendezvous::Impl {
 public:
  explicit Impl(RendezvousOptions options)
      : options_(std::move(options)),
        listener_(listen_tcp(Address::parse(options_.address))),
        address_(Address::parse(options_.address)),
        wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        membership_(options_, Clock::now()),
        most_strangers_(most_strangers(static_cast<size_t>(options_.max_size))) {
    TW_REQUIRE(!options_.secret.empty(), "a rendezvous needs a secret that its members know");
    if (!options_.log) options_.log = log_to_stderr;
    address_.port = port_of(listener_);
    thread_ = std::thread([this] { serve(); });
  }
  ~Impl() {
    stop_.store(true);
    wake();
    thread_.join();
  }

  std::string address() const { return address_.text(); }
  State state() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return state_;
  }
  void accept_result() {
    accepted_.store(true);
    wake();
  }

 private:
  void wake() const {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
  }
  void serve();
  void wait(int milliseconds);
  void accept_some(Clock::time_point now);
  void read(Client& client, Clock::time_point now);
  void take(Client& client, const json& message, Clock::time_point now);
  void welcome(Client& client, const Introduction& introduction, Clock::time_point now);
  void handle(Client& client, const MemberMessage& message, Clock::time_point now);
  void drop_lost(Clock::time_point now);
  /// Why the client counts as lost; empty if it does not.
  std::string reason_to_drop(const Client& client, Clock::time_point now) const;
  void deliver();
  void publish();
  void log(const std::string& text) const { options_.log(text); }

  RendezvousOptions options_;
  FileDescriptor listener_;
  Address address_;
  FileDescriptor wake_;
  Membership membership_;
  size_t most_strangers_;
  std::list<Client> clients_;
  /// What members of the epoch said last about themselves, also of those that have left.
  std::map<std::string, std::string> statuses_;
  std::map<std::string, int> arrivals_;
  uint64_t logged_epoch_ = 0;
  std::string logged_giver_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> accepted_{false};
  mutable std::mutex mutex_;
  State state_;
  std::thread thread_;
};

void Rendezvous::Impl::serve() {
  auto last = Clock::now();
  // Once more after it is told to stop: what a member said before is still handed on to the others.
  for (bool stopping = false; !stopping;) {
    stopping = stop_.load();
    // What has come by now can be read without waiting for more.
    wait(stopping ? 0 : kTickMilliseconds);
    const auto now = Clock::now();
    // If this process itself was stopped, everybody else's silence says nothing.
    if (now - last > options_.silence / 2) {
      for (Client& client : clients_) client.heard = now;
    }
    last = now;
    accept_some(now);
    for (Client& client : clients_) read(client, now);
    // Only now: who has answered the challenge meanwhile is no stranger any more.
    give_up_excess(clients_, most_strangers_);
    drop_lost(now);
    if (accepted_.exchange(false)) membership_.accept_result();
    membership_.tick(now);
    // In this order: who is told something can see it in the state.
    publish();
    deliver();
  }
}

void Rendezvous::Impl::wait(int milliseconds) {
  std::vector<pollfd> polled = {{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
  for (const Client& client : clients_) {
    const int events = POLLIN | (client.connection.wants_to_write() ? POLLOUT : 0);
    polled.push_back({client.connection.descriptor(), static_cast<short>(events), 0});
  }
  ::poll(polled.data(), polled.size(), milliseconds);
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t drained = ::read(wake_.get(), &count, sizeof count);
}

void Rendezvous::Impl::accept_some(Clock::time_point now) {
  for (size_t count = 0; count < most_strangers_; ++count) {
    FileDescriptor socket = accept_one(listener_);
    if (!socket.valid()) return;
    std::string peer = peer_address(socket);
    clients_.push_back(
        {Connection(std::move(socket), {options_.secret, options_.tls}), std::move(peer), "", "", now, false});
  }
}

void Rendezvous::Impl::read(Client& client, Clock::time_point now) {
  client.connection.flush();
  while (auto message = client.connection.receive()) {
    client.heard = now;
    take(client, *message, now);
  }
}

void Rendezvous::Impl::take(Client& client, const json& message, Clock::time_point now) {
  try {
    if (client.id.empty()) {
      welcome(client, Introduction::from_json(message), now);
    } else {
      handle(client, MemberMessage::from_json(message), now);
    }
  } catch (const Error& error) {
    log("refused " + (client.name.empty() ? client.peer : client.name) + ": " + error.what());
    client.connection.close_with(error.what());
  }
}

void Rendezvous::Impl::welcome(Client& client, const Introduction& introduction, Clock::time_point now) {
  const MemberInfo& info = introduction.member;
  // A member that connects again may be quicker than the news that its old connection broke.
  clients_.remove_if([&](const Client& other) { return &other != &client && other.id == info.id; });
  client.id = info.id;
  client.name = info.name;
  log(info.name + (introduction.known ? " is back" : " has come") + (options_.tls ? " over TLS" : ""));
  if (!introduction.known) ++arrivals_[info.name];
  membership_.join(info, introduction.known, now, introduction.preparing);
}

void Rendezvous::Impl::handle(Client& client, const MemberMessage& message, Clock::time_point now) {
  switch (message.kind) {
    case MemberMessage::Kind::kBeat:
      if (!message.text.empty()) statuses_[client.id] = message.text;
      // A member waits for as long as it hears this.
      client.connection.send({{"type", "alive"}});
      break;
    case MemberMessage::Kind::kReady:
      if (!message.text.empty()) log(client.name + " leaves its epoch: " + message.text);
      membership_.ready(client.id, message.epoch, message.text, now, message.unreachable);
      break;
    case MemberMessage::Kind::kFail: membership_.fail(client.id, message.text); break;
    case MemberMessage::Kind::kFinish: membership_.finish(client.id, now); break;
    case MemberMessage::Kind::kHandedOver: membership_.handed_over(client.id, now); break;
  }
  client.awaits_answer |= message.is_last();
}

std::string Rendezvous::Impl::reason_to_drop(const Client& client, Clock::time_point now) const {
  if (!client.connection.error().empty()) return client.connection.error();
  return reason_if_silent(now - client.heard, client.id.empty() ? kIntroduction : options_.silence);
}

void Rendezvous::Impl::drop_lost(Clock::time_point now) {
  for (auto client = clients_.begin(); client != clients_.end();) {
    const std::string why = reason_to_drop(*client, now);
    if (why.empty()) {
      ++client;
      continue;
    }
    if (client->id.empty()) {
      log("refused " + client->peer + ": " + why);
    } else {
      if (!membership_.finished()) log(client->name + " is lost: " + why);
      membership_.lose(client->id, why, now);
    }
    client = clients_.erase(client);
  }
}

void Rendezvous::Impl::deliver() {
  for (const Notice& notice : membership_.take_notices()) {
    for (Client& client : clients_) {
      if (client.id == notice.id) client.connection.send(notice.message);
    }
  }
  for (Client& client : clients_) {
    if (std::exchange(client.awaits_answer, false)) client.connection.send({{"type", "heard"}});
  }
}

void Rendezvous::Impl::publish() {
  const View& view = membership_.view();
  if (view.epoch != logged_epoch_) {
    logged_epoch_ = view.epoch;
    log("epoch " + std::to_string(view.epoch) + " has " + std::to_string(view.members.size()) + " members");
  }
  const MemberInfo* giver = membership_.ended() ? nullptr : membership_.giver();
  if (giver != nullptr && giver->id != logged_giver_) {
    logged_giver_ = giver->id;
    log("all have finished, " + giver->name + " is asked for the result");
  }
  const auto described = [&](const std::vector<MemberInfo>& infos) {
    std::vector<Member> members;
    for (const MemberInfo& info : infos) {
      const auto status = statuses_.find(info.id);
      members.push_back({info.name, status != statuses_.end() ? status->second : ""});
    }
    return members;
  };
  const std::vector<MemberInfo> preparing = membership_.preparing();
  std::erase_if(statuses_, [&](const auto& entry) {
    const auto is_it = [&](const MemberInfo& info) { return info.id == entry.first; };
    return view.rank_of(entry.first) < 0 && std::none_of(preparing.begin(), preparing.end(), is_it);
  });
  const std::lock_guard<std::mutex> lock(mutex_);
  state_ = {view.epoch,
            static_cast<int>(view.members.size()),
            static_cast<int>(membership_.waiting()),
            membership_.finished(),
            membership_.error(),
            described(view.members),
            described(preparing),
            membership_.present(),
            membership_.forsaken_seats(),
            arrivals_,
            giver != nullptr ? giver->name : ""};
}

Rendezvous::Rendezvous(RendezvousOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Rendezvous::~Rendezvous() = default;
std::string Rendezvous::address() const { return impl_->address(); }
Rendezvous::State Rendezvous::state() const { return impl_->state(); }
void Rendezvous::accept_result() { impl_->accept_result(); }

}  // namespace thalweg::comm
