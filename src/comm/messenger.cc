// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/messenger.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "thalweg/error.h"

namespace thalweg::comm {
namespace {

/// How long a wait may sleep before it looks around, should a wake-up get lost.
constexpr std::chrono::milliseconds kSlice{100};

}  // namespace

/// A caller's hold on the messenger.
class Messenger::Caller {
 public:
  explicit Caller(Messenger& messenger) : messenger_(messenger) {
    messenger_.callers_.fetch_add(1, std::memory_order_relaxed);
    lock_ = std::unique_lock<std::mutex>(messenger_.mutex_);
    messenger_.callers_.fetch_sub(1, std::memory_order_relaxed);
  }
  /// Waits for a change.
  void wait(std::chrono::nanoseconds longest) { messenger_.changed_.wait_for(lock_, longest); }

 private:
  Messenger& messenger_;
  std::unique_lock<std::mutex> lock_;
};

Messenger::Messenger(int rank, std::vector<std::unique_ptr<Link>> links, std::shared_ptr<SharedArea> area,
                     Signal* doorbell)
    : rank_(rank), area_(std::move(area)), doorbell_(doorbell), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  TW_REQUIRE(wake_.valid(), "cannot make an eventfd: ", std::strerror(errno));
  peer_trouble_.resize(links.size());
  for (size_t i = 0; i < links.size(); ++i) {
    streams_.emplace_back();
    if (links[i] != nullptr) streams_.back().emplace(std::move(links[i]), static_cast<int>(i), mailbox_);
  }
}

Messenger::~Messenger() { close(); }

Messenger::Wake Messenger::wake_of(const Link& link) {
  if (link.descriptor() >= 0) return Wake::kSocket;
  return link.rings() ? Wake::kDoorbell : Wake::kNothing;
}

Status Messenger::trouble_of(const Delivery& delivery) const {
  if (!failed_.ok()) return failed_;
  if (const auto found = context_trouble_.find(delivery.route.context); found != context_trouble_.end()) {
    return found->second;
  }
  for (size_t peer = 0; peer < peer_trouble_.size(); ++peer) {
    if (!peer_trouble_[peer].ok() && delivery.may_come_from(static_cast<int>(peer))) return peer_trouble_[peer];
  }
  return {};
}

void Messenger::send(const std::shared_ptr<Delivery>& message) {
  TW_REQUIRE(message->peer >= 0 && message->peer < size(), "rank ", rank_, " of ", size(),
             " cannot send a message to rank ", message->peer);
  TW_REQUIRE(message->size <= Channel::kMostBytes, "a message of ", message->size, " bytes is longer than the ",
             Channel::kMostBytes, " that one may have");
  const Caller caller(*this);
  start_threads();
  message->news = &news_;
  if (Status status = trouble_of(*message); !status) return message->finish(status);
  if (message->peer == rank_) {
    send_to_itself(*message);
  } else {
    FrameStream& stream = *streams_[static_cast<size_t>(message->peer)];
    const bool was_blocked = stream.blocked();
    stream.send(message);
    if (!was_blocked) stream.write();
    if (!was_blocked && stream.blocked()) wake_sockets();
  }
  settle();
}

void Messenger::send_to_itself(Delivery& message) {
  std::string error;
  const std::shared_ptr<Arrival> arrival = mailbox_.begin(rank_, message.route, message.tag, message.size, error);
  if (arrival == nullptr) return message.finish(Failure{FailureKind::kProtocol, rank_, "it sent " + error, 0});
  if (arrival->target != nullptr) {
    if (message.size > 0) std::memcpy(arrival->target, message.outgoing(), message.size);
  } else if (message.memory != nullptr) {
    arrival->bytes.assign(message.memory, message.memory + message.size);
  } else {
    arrival->bytes = std::move(message.bytes);
  }
  arrival->got = arrival->size;
  mailbox_.end(arrival);
  message.finish({});
}

void Messenger::receive(const std::shared_ptr<Delivery>& message) {
  TW_REQUIRE(message->peer >= kAnybody && message->peer < size(), "rank ", rank_, " of ", size(),
             " cannot receive a message from rank ", message->peer);
  const Caller caller(*this);
  start_threads();
  message->news = &news_;
  mailbox_.ask(message);
  if (!message->done.load(std::memory_order_relaxed)) {
    // What had come before is given out in any case.
    if (Status status = trouble_of(*message); !status) {
      mailbox_.withdraw(*message);
      message->finish(status);
    }
  }
  settle();
}

bool Messenger::wait_any(std::span<const std::shared_ptr<Delivery>> deliveries, const Deadline& deadline) {
  const auto any_done = [&] {
    return std::any_of(deliveries.begin(), deliveries.end(),
                       [](const auto& delivery) { return delivery->done.load(std::memory_order_acquire); });
  };
  if (any_done()) return true;
  Caller caller(*this);
  while (!any_done()) {
    if (deadline.expired()) return false;
    caller.wait(std::min<std::chrono::nanoseconds>(kSlice, deadline.remaining()));
  }
  return true;
}

bool Messenger::cancel(Delivery& delivery) {
  const Caller caller(*this);
  if (delivery.done.load(std::memory_order_relaxed)) return false;
  if (delivery.kind == Delivery::Kind::kReceive) {
    mailbox_.withdraw(delivery);
  } else if (delivery.peer == rank_ || !streams_[static_cast<size_t>(delivery.peer)]->withdraw(delivery)) {
    return false;
  }
  delivery.finish(Failure{FailureKind::kCancelled, delivery.peer, delivery.activity() + ": cancelled", 0});
  settle();
  return true;
}

void Messenger::let_go(std::span<const std::shared_ptr<Delivery>> deliveries) {
  const Caller caller(*this);
  for (const std::shared_ptr<Delivery>& delivery : deliveries) {
    if (delivery->done.load(std::memory_order_relaxed)) continue;
    if (delivery->kind == Delivery::Kind::kReceive) {
      mailbox_.withdraw(*delivery);
    } else if (delivery->peer != rank_) {
      FrameStream& stream = *streams_[static_cast<size_t>(delivery->peer)];
      if (!stream.withdraw(*delivery)) stream.let_go(*delivery);
    }
    delivery->finish(Failure{FailureKind::kCancelled, delivery->peer, delivery->activity() + ": given up", 0});
  }
  settle();
}

void Messenger::settle() {
  hand_out_grants();
  for (size_t peer = 0; peer < streams_.size(); ++peer) {
    if (streams_[peer] && !streams_[peer]->error().empty() && peer_trouble_[peer].ok()) lose(peer);
  }
  if (std::exchange(news_, false)) changed_.notify_all();
}

void Messenger::hand_out_grants() {
  for (const Mailbox::Grant& grant : mailbox_.take_grants()) {
    const auto peer = static_cast<size_t>(grant.peer);
    if (grant.peer == rank_ || !peer_trouble_[peer].ok() || !failed_.ok()) continue;
    FrameStream& stream = *streams_[peer];
    const bool was_blocked = stream.blocked();
    stream.grant(grant.route, grant.cost);
    if (!was_blocked && stream.blocked()) stream.write();
    // The threads may sleep until the link can be written to, or read from again.
    if (!was_blocked && stream.blocked()) wake_sockets();
    if (stream.paused() && stream.reads()) {
      wake_sockets();
      if (doorbell_ != nullptr) doorbell_->increment();
    }
  }
}

void Messenger::lose(size_t peer) {
  FrameStream& stream = *streams_[peer];
  const FailureKind kind = stream.protocol_error() ? FailureKind::kProtocol : FailureKind::kPeerLost;
  const Failure failure{kind, static_cast<int>(peer), stream.error(), 0};
  peer_trouble_[peer] = failure;
  stream.fail_sends(failure, [](const Delivery&) { return true; });
  mailbox_.fail(failure, [&](const Delivery& receive) { return receive.may_come_from(static_cast<int>(peer)); });
  stream.close();
}

void Messenger::fail_all(const Failure& failure) {
  const auto everything = [](const Delivery&) { return true; };
  mailbox_.fail(failure, everything);
  for (auto& stream : streams_) {
    if (stream) stream->fail_sends(failure, everything);
  }
}

void Messenger::abort(const std::string& why) {
  const Caller caller(*this);
  if (!failed_.ok()) return;
  const Failure failure{FailureKind::kGroupChanged, -1, why, 0};
  failed_ = failure;
  fail_all(failure);
  settle();
}

void Messenger::abort(uint64_t context, const std::string& why) {
  const Caller caller(*this);
  const Failure failure{FailureKind::kGroupChanged, -1, why, 0};
  if (!context_trouble_.emplace(context, failure).second) return;
  const auto concerns = [&](const Delivery& delivery) { return delivery.route.context == context; };
  mailbox_.fail(failure, concerns);
  for (auto& stream : streams_) {
    if (stream) stream->fail_sends(failure, concerns);
  }
  settle();
}

void Messenger::forget(uint64_t context) {
  abort(context, "the subgroup is gone");
  const Caller caller(*this);
  mailbox_.close(context);
  settle();
  for (auto& stream : streams_) {
    if (stream) stream->forget(context);
  }
}

void Messenger::close() {
  abort("this member has left");
  stop_.store(true);
  wake_sockets();
  if (doorbell_ != nullptr) doorbell_->increment();
  std::vector<std::thread> threads;
  {
    const Caller caller(*this);
    // No other may begin.
    started_ = true;
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
  const Caller caller(*this);
  for (auto& stream : streams_) {
    if (stream) stream->close();
  }
}

}  // namespace thalweg::comm
