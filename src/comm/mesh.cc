// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/mesh.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace thalweg::comm {
namespace {

/// Shorter messages go over the first stream alone.
constexpr size_t kLeastStripe = size_t{128} << 10U;
/// How long a wait may sleep before it looks around, should a wake-up get lost.
constexpr int kSliceMilliseconds = 100;
/// With sockets and shared memory to wait for at once, no call waits for both.
constexpr int kMixedSliceMilliseconds = 1;

}  // namespace

Mesh::Mesh(int rank, std::vector<PeerLinks> links, std::shared_ptr<SharedArea> area, int member)
    : rank_(rank), area_(std::move(area)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  TW_REQUIRE(wake_.valid(), "cannot make an eventfd: ", std::strerror(errno));
  if (area_ != nullptr) doorbell_ = &area_->doorbell(member);
  peers_.resize(links.size());
  for (size_t i = 0; i < links.size(); ++i) {
    for (auto& link : links[i].streams) peers_[i].streams.emplace_back(std::move(link));
  }
}

bool Mesh::Peer::idle() const {
  return std::all_of(streams.begin(), streams.end(), [](const MessageStream& stream) { return stream.idle(); });
}

void Mesh::queue(const Transfer& transfer) {
  TW_REQUIRE(transfer.peer >= 0 && transfer.peer < size() && transfer.peer != rank_, "rank ", rank_, " of ", size(),
             " cannot exchange messages with rank ", transfer.peer);
  Peer& peer = peers_[static_cast<size_t>(transfer.peer)];
  if (std::find(active_.begin(), active_.end(), transfer.peer) == active_.end()) active_.push_back(transfer.peer);
  const size_t stripes = std::clamp<size_t>(transfer.bytes / kLeastStripe, 1, peer.streams.size());
  for (size_t i = 0; i < stripes; ++i) {
    const Part part = part_of(transfer.bytes, static_cast<int>(stripes), static_cast<int>(i));
    if (transfer.kind == Transfer::Kind::kSend) {
      peer.streams[i].send(transfer.tag, transfer.data + part.begin, part.size());
    } else {
      peer.streams[i].receive(transfer.tag, transfer.data + part.begin, part.size());
    }
  }
}

Status Mesh::run(std::span<const Transfer> transfers, const Deadline& deadline) {
  if (!failed_.ok()) return failed_;
  active_.clear();
  for (const Transfer& transfer : transfers) queue(transfer);
  for (;;) {
    const uint32_t seen = doorbell_ != nullptr ? doorbell_->value() : 0;
    const bool moved = progress();
    if (Status status = check(deadline); !status) return failed_ = status;
    if (idle()) {
      count(transfers);
      return {};
    }
    if (!moved) wait(seen, deadline);
  }
}

bool Mesh::progress() {
  bool moved = false;
  for (const int peer : active_) {
    for (MessageStream& stream : peers_[static_cast<size_t>(peer)].streams) moved |= stream.progress();
  }
  return moved;
}

bool Mesh::idle() const {
  return std::all_of(active_.begin(), active_.end(),
                     [&](int peer) { return peers_[static_cast<size_t>(peer)].idle(); });
}

void Mesh::wait(uint32_t doorbell_seen, const Deadline& deadline) {
  polled_.clear();
  bool memory = false;
  for (const int peer : active_) {
    for (const MessageStream& stream : peers_[static_cast<size_t>(peer)].streams) {
      if (stream.idle()) continue;
      const int descriptor = stream.link().descriptor();
      memory |= descriptor < 0;
      const int events = (stream.sending() ? POLLOUT : 0) | (stream.receiving() ? POLLIN : 0);
      if (descriptor >= 0) polled_.push_back({descriptor, static_cast<short>(events), 0});
    }
  }
  if (polled_.empty()) {
    const std::chrono::nanoseconds slice = std::chrono::milliseconds(kSliceMilliseconds);
    doorbell_->wait(doorbell_seen, std::min(slice, deadline.remaining()));
    return;
  }
  polled_.push_back({wake_.get(), POLLIN, 0});
  ::poll(polled_.data(), polled_.size(),
         deadline.poll_milliseconds(memory ? kMixedSliceMilliseconds : kSliceMilliseconds));
}

Status Mesh::check(const Deadline& deadline) {
  for (const int peer : active_) {
    for (const MessageStream& stream : peers_[static_cast<size_t>(peer)].streams) {
      if (!stream.error().empty()) return broken_stream(deadline.elapsed());
    }
  }
  if (aborted_.load(std::memory_order_acquire)) {
    const std::lock_guard<std::mutex> lock(abort_mutex_);
    return Failure{FailureKind::kGroupChanged, -1, abort_reason_, deadline.elapsed()};
  }
  return deadline.expired() && !idle() ? timed_out(deadline.elapsed()) : Status();
}

Status Mesh::broken_stream(double seconds) const {
  for (const int peer : active_) {
    for (const MessageStream& stream : peers_[static_cast<size_t>(peer)].streams) {
      if (stream.error().empty()) continue;
      const FailureKind kind = stream.protocol_error() ? FailureKind::kProtocol : FailureKind::kPeerLost;
      return Failure{kind, peer, stream.error(), seconds};
    }
  }
  return {};
}

Status Mesh::timed_out(double seconds) const {
  for (const int peer : active_) {
    for (const MessageStream& stream : peers_[static_cast<size_t>(peer)].streams) {
      if (!stream.idle()) return Failure{FailureKind::kTimeout, peer, stream.activity() + ": no progress", seconds};
    }
  }
  return {};
}

void Mesh::abort(const std::string& why) {
  {
    const std::lock_guard<std::mutex> lock(abort_mutex_);
    if (aborted_.load(std::memory_order_relaxed)) return;
    abort_reason_ = why;
    aborted_.store(true, std::memory_order_release);
  }
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
  if (doorbell_ != nullptr) doorbell_->increment();
}

}  // namespace thalweg::comm
