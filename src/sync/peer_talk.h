// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "sync/compress/compressor.h"
#include "thalweg/comm.h"

namespace thalweg::sync {

/// One worker's end of what the workers of an epoch say to each other without waiting for anybody: messages through a
/// channel, each handled as soon as it comes by a thread of this object, those of one sender in their order. So a
/// link that is slow, or a worker that has stopped, keeps only those waiting who want something of it.
///
/// All say in this way, too, that somebody wants the run to end, that the epoch ends because somebody waits to be
/// admitted, and that they make no more steps. Nobody says the second after the third, so that all workers see the same
/// of the two first.
class PeerTalk {
 public:
  PeerTalk(comm::Group& group, uint32_t channel);
  virtual ~PeerTalk();
  PeerTalk(const PeerTalk&) = delete;
  PeerTalk& operator=(const PeerTalk&) = delete;

  // For the thread that trains. What the other thread has ended with, if it threw something, is thrown wherever this
  // one asks how things are.

  /// Tells all, once.
  void ask_to_stop();
  bool stop_asked() const { return stop_asked_; }
  /// After every step: if somebody asks to be admitted, all learn that this epoch is over.
  void look_for_newcomers();
  bool admits() const { return admits_; }
  /// Why the epoch is over, if it failed.
  comm::Status failure() const;

 protected:
  /// Kinds of messages from this one on are the derived class's.
  static constexpr uint64_t kFirstKind = 16;

  /// At the end of the constructor of the class that is whole, and at the beginning of its destructor.
  void begin();
  void end();

  comm::Group& group() { return group_; }
  const comm::Group& group() const { return group_; }
  int rank() const { return rank_; }
  int size() const { return size_; }

  /// A message of that kind, to which its contents are appended.
  static Bytes message(uint64_t kind);
  void tell(int peer, Bytes message) { channel_->send(peer, std::move(message)); }
  /// This worker too.
  void tell_all(const Bytes& message);
  /// This worker makes no more steps, and sends nothing more that a step has made.
  void tell_done();

  /// On the thread of this object: a message of the derived class's. A failure is the sender's.
  virtual comm::Status handle(int from, uint64_t kind, std::span<const std::byte> contents) = 0;
  /// The same: a worker has said that it is done.
  virtual void is_done(int /*from*/) {}

  // With the lock held.

  /// Until it holds, or the epoch is over. False if neither is so after that time.
  template <typename Holds>
  bool wait(std::unique_lock<std::mutex>& lock, std::chrono::duration<double> longest, const Holds& holds) {
    return changed_.wait_for(lock, longest, [&] { return over_ || holds(); });
  }
  bool over() const { return over_; }
  bool done(int rank) const { return done_[static_cast<size_t>(rank)]; }
  bool all_done() const;
  comm::Status failure_so_far() const;
  /// Why the epoch is over, which it is; ok if all were done.
  comm::Status end_of_epoch() const;
  comm::Failure late(int rank, const std::string& what, std::chrono::duration<double> waited) const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;

 private:
  void listen();
  comm::Status take(comm::Message message);
  comm::Status next(comm::Message& message);

  comm::Group& group_;
  comm::Communicator& communicator_;
  int rank_, size_;
  std::unique_ptr<comm::Channel> channel_;
  /// That the thread waits for.
  comm::Pending awaited_;
  std::vector<bool> done_;
  bool over_ = false;
  bool ended_ = false;
  bool stop_told_ = false, admission_told_ = false;
  comm::Status failure_;
  std::exception_ptr error_;
  std::atomic<bool> stop_asked_{false}, admits_{false};
  std::thread thread_;
};

}  // namespace thalweg::sync
