// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/peer_talk.h"

#include <algorithm>
#include <utility>

#include "sync/compress/bits.h"

namespace thalweg::sync {
namespace {

constexpr uint64_t kStop = 1, kAdmit = 2, kDone = 3;
/// Short enough for a string without memory of its own, of which there may be none left.
constexpr const char* kFailed = "worker failed";
/// The thread looks again after so long without a word. That a worker is gone is for the group to notice.
constexpr std::chrono::hours kLong{1};

}  // namespace

PeerTalk::PeerTalk(comm::Group& group, uint32_t channel)
    : group_(group),
      communicator_(group.communicator()),
      rank_(group.rank()),
      size_(group.size()),
      channel_(communicator_.channel(channel)),
      done_(static_cast<size_t>(group.size())) {}

PeerTalk::~PeerTalk() { end(); }

void PeerTalk::begin() {
  thread_ = std::thread([this] { listen(); });
}

void PeerTalk::end() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
    if (awaited_) awaited_.cancel();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Bytes PeerTalk::message(uint64_t kind) {
  Bytes bytes;
  put_number(bytes, kind);
  return bytes;
}

void PeerTalk::tell_all(const Bytes& message) {
  for (int peer = 0; peer < size_; ++peer) channel_->send(peer, std::span<const std::byte>(message));
}

void PeerTalk::ask_to_stop() {
  if (std::exchange(stop_told_, true)) return;
  stop_asked_ = true;
  tell_all(message(kStop));
}

void PeerTalk::look_for_newcomers() {
  if (!group_.newcomers_waiting() || std::exchange(admission_told_, true)) return;
  tell_all(message(kAdmit));
}

void PeerTalk::tell_done() { tell_all(message(kDone)); }

bool PeerTalk::all_done() const {
  return std::all_of(done_.begin(), done_.end(), [](bool done) { return done; });
}

comm::Status PeerTalk::failure_so_far() const {
  if (error_ != nullptr) std::rethrow_exception(error_);
  return failure_;
}

comm::Status PeerTalk::failure() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return failure_so_far();
}

comm::Status PeerTalk::end_of_epoch() const {
  comm::Status status = failure_so_far();
  if (status.ok() && admits_) return comm::Failure{comm::FailureKind::kGroupChanged, -1, "a worker is admitted", 0};
  return status;
}

comm::Failure PeerTalk::late(int rank, const std::string& what, std::chrono::duration<double> waited) const {
  return {comm::FailureKind::kTimeout, rank, group_.names()[static_cast<size_t>(rank)] + " " + what, waited.count()};
}

comm::Status PeerTalk::next(comm::Message& message) {
  comm::Pending pending;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (ended_) return comm::Failure{comm::FailureKind::kCancelled, -1, "the epoch has ended", 0};
    pending = awaited_ = channel_->receive(comm::kAnybody);
  }
  comm::Status status = pending.wait(kLong);
  while (!status && status.failure().kind == comm::FailureKind::kTimeout) status = pending.wait(kLong);
  if (status.ok()) message = pending.take();
  return status;
}

void PeerTalk::listen() {
  comm::Status status;
  std::exception_ptr error;
  try {
    while (status.ok()) {
      comm::Message message;
      status = next(message);
      if (status.ok()) status = take(std::move(message));
    }
  } catch (...) {
    error = std::current_exception();
    communicator_.abort(kFailed);
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    // Who was done may leave.
    if (!all_done()) failure_ = status;
    error_ = error;
    over_ = true;
  }
  changed_.notify_all();
}

comm::Status PeerTalk::take(comm::Message message) {
  std::span<const std::byte> contents = message.bytes;
  const auto bad = [&](const std::string& what) {
    return comm::Failure{comm::FailureKind::kProtocol, message.from, what, 0};
  };
  if (contents.size() < sizeof(uint64_t)) return bad("a message of " + std::to_string(contents.size()) + " bytes");
  const auto kind = take_number<uint64_t>(contents);
  if (kind >= kFirstKind) {
    comm::Status status = handle(message.from, kind, contents);
    changed_.notify_all();
    return status;
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (kind == kStop) stop_asked_ = true;
    if (kind == kAdmit) over_ = admits_ = true;
    if (kind == kDone) done_[static_cast<size_t>(message.from)] = true;
  }
  if (kind != kStop && kind != kAdmit && kind != kDone) return bad("a message of unknown kind " + std::to_string(kind));
  if (kind == kDone) {
    is_done(message.from);
    const std::lock_guard<std::mutex> lock(mutex_);
    over_ = over_ || all_done();
  }
  changed_.notify_all();
  return {};
}

}  // namespace thalweg::sync
