// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/member_channel.h"

#include <algorithm>

#include "thalweg/error.h"

namespace thalweg::comm {

/// What the copies of a Pending share.
class PendingHandle {
 public:
  PendingHandle(std::shared_ptr<Delivery> delivery, Lane lane, std::chrono::duration<double> timeout)
      : delivery_(std::move(delivery)), lane_(std::move(lane)), timeout_(timeout) {}
  ~PendingHandle() {
    if (delivery_->kind == Delivery::Kind::kReceive) cancel();
  }
  PendingHandle(const PendingHandle&) = delete;
  PendingHandle& operator=(const PendingHandle&) = delete;

  std::chrono::duration<double> timeout() const { return timeout_; }
  const std::shared_ptr<Delivery>& delivery() const { return delivery_; }
  Messenger& messenger() const { return *lane_.messenger; }
  bool done() const { return delivery_->done.load(std::memory_order_acquire); }
  bool cancel() { return !done() && messenger().cancel(*delivery_); }

  Status wait(const Deadline& deadline) const {
    if (!messenger().wait(delivery_, deadline)) {
      return own({FailureKind::kTimeout, delivery_->peer, delivery_->activity() + ": no progress", 0}, deadline);
    }
    return delivery_->status.ok() ? Status() : own(delivery_->status.failure(), deadline);
  }

  Message take() {
    TW_REQUIRE(delivery_->kind == Delivery::Kind::kReceive, "what was sent holds no message to take");
    TW_REQUIRE(done() && delivery_->status.ok() && !taken_.exchange(true),
               "there is no message to take: wait until it has come, and take it once");
    return {lane_.rank_of(delivery_->from), std::move(delivery_->bytes)};
  }

 private:
  /// With ranks of the communicator, and the time it took.
  Status own(Failure failure, const Deadline& deadline) const {
    if (failure.peer >= 0) failure.peer = lane_.rank_of(failure.peer);
    failure.seconds = deadline.elapsed();
    return failure;
  }

  std::shared_ptr<Delivery> delivery_;
  Lane lane_;
  std::chrono::duration<double> timeout_;
  std::atomic<bool> taken_{false};
};

namespace {

PendingHandle& valid(const std::shared_ptr<PendingHandle>& handle) {
  TW_REQUIRE(handle != nullptr, "this Pending was made by no channel");
  return *handle;
}

}  // namespace

Status Pending::wait() const { return valid(handle_).wait(Deadline(handle_->timeout())); }
Status Pending::wait(std::chrono::duration<double> longest) const { return valid(handle_).wait(Deadline(longest)); }
bool Pending::done() const { return valid(handle_).done(); }
Message Pending::take() { return valid(handle_).take(); }
bool Pending::cancel() { return valid(handle_).cancel(); }

int wait_any(std::span<const Pending> pending, std::chrono::duration<double> longest) {
  if (pending.empty()) return -1;
  std::vector<std::shared_ptr<Delivery>> deliveries;
  Messenger& messenger = valid(pending[0].handle_).messenger();
  for (const Pending& one : pending) {
    TW_REQUIRE(&valid(one.handle_).messenger() == &messenger,
               "messages of different groups cannot be waited for at once");
    deliveries.push_back(one.handle_->delivery());
  }
  if (!messenger.wait_any(deliveries, Deadline(longest))) return -1;
  const auto is_done = [](const auto& delivery) { return delivery->done.load(std::memory_order_acquire); };
  return static_cast<int>(std::find_if(deliveries.begin(), deliveries.end(), is_done) - deliveries.begin());
}

MemberChannel::MemberChannel(Lane lane, uint32_t id, const ChannelOptions& options,
                             std::shared_ptr<TrafficCounter> counter, std::chrono::duration<double> timeout)
    : lane_(std::move(lane)), id_(id), options_(options), counter_(std::move(counter)), timeout_(timeout) {}

std::shared_ptr<Delivery> MemberChannel::make(Delivery::Kind kind, int peer, uint32_t tag) const {
  const int size = static_cast<int>(lane_.ranks->size());
  const int least = kind == Delivery::Kind::kReceive ? kAnybody : 0;
  TW_REQUIRE(peer >= least && peer < size, "rank ", lane_.self, " of ", size, " cannot ",
             kind == Delivery::Kind::kSend ? "send to" : "receive from", " rank ", peer, " on channel ", id_);
  auto delivery = std::make_shared<Delivery>();
  delivery->kind = kind;
  delivery->route = {lane_.context, Route::Use::kChannel, id_};
  delivery->tag = tag;
  delivery->peer = peer == kAnybody ? kAnybody : (*lane_.ranks)[static_cast<size_t>(peer)];
  if (peer == kAnybody && !lane_.whole()) delivery->members = lane_.ranks;
  delivery->priority = options_.priority;
  delivery->counter = counter_;
  return delivery;
}

Pending MemberChannel::send(int peer, std::vector<std::byte> bytes, uint32_t tag) {
  const std::shared_ptr<Delivery> delivery = make(Delivery::Kind::kSend, peer, tag);
  delivery->bytes = std::move(bytes);
  delivery->size = delivery->bytes.size();
  lane_.messenger->send(delivery);
  return Pending(std::make_shared<PendingHandle>(delivery, lane_, timeout_));
}

Pending MemberChannel::send(int peer, std::span<const std::byte> bytes, uint32_t tag) {
  return send(peer, std::vector<std::byte>(bytes.begin(), bytes.end()), tag);
}

Pending MemberChannel::receive(int peer, uint32_t tag) {
  const std::shared_ptr<Delivery> delivery = make(Delivery::Kind::kReceive, peer, tag);
  lane_.messenger->receive(delivery);
  return Pending(std::make_shared<PendingHandle>(delivery, lane_, timeout_));
}

}  // namespace thalweg::comm
