// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace thalweg::comm {

enum class FailureKind {
  kTimeout,       ///< the deadline passed
  kPeerLost,      ///< the connection to a peer broke
  kGroupChanged,  ///< the membership changed meanwhile: meet again at the next epoch
  kProtocol,      ///< a peer sent what nobody asked for
  kCancelled      ///< whoever asked for it has taken that back
};

/// What went wrong between members of a group, with whom, and after how long.
struct Failure {
  FailureKind kind = FailureKind::kTimeout;
  /// The rank it concerns; -1 if no single one.
  int peer = -1;
  std::string what;
  double seconds = 0;

  /// "rank 3: receiving 4.0 MiB: connection closed, after 0.25 s".
  std::string text() const;
};

/// The outcome of a communication. A failure is a value, not an exception: in a group it is an ordinary event, after
/// which the survivors go on. A communicator that has failed once fails at every later call.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Failure failure) : failure_(std::make_shared<Failure>(std::move(failure))) {}  // NOLINT: a failure is a status

  bool ok() const { return failure_ == nullptr; }
  explicit operator bool() const { return ok(); }
  /// Only of a status that is not ok.
  const Failure& failure() const { return *failure_; }
  /// Throws Error with the failure's text unless ok: for callers that cannot go on without the group.
  void or_throw() const;

 private:
  std::shared_ptr<const Failure> failure_;
};

/// Payload that has passed between members, without headers and what the network adds.
struct Traffic {
  uint64_t sent_bytes = 0;
  uint64_t received_bytes = 0;
  uint64_t sent_messages = 0;
  uint64_t received_messages = 0;
};

/// In place of a rank: whoever it is.
inline constexpr int kAnybody = -1;

/// What has come, and from whom.
struct Message {
  int from = -1;
  std::vector<std::byte> bytes;
};

class PendingHandle;

/// A message on its way, or one that is waited for. Copies are the same one; any thread may use them. It may outlive
/// its channel. When the last copy of a receive is gone before the message has come, that is cancelled.
class Pending {
 public:
  Pending() = default;
  explicit Pending(std::shared_ptr<PendingHandle> handle) : handle_(std::move(handle)) {}

  /// Waits until it is done, for the time that the communicator allows its calls (Communicator::set_timeout, as it was
  /// when the channel was made). A failure of kTimeout leaves it as it is: wait again, or cancel.
  Status wait() const;
  /// The same for so long at most. Zero only looks.
  Status wait(std::chrono::duration<double> longest) const;
  /// Whether it has ended, well or not; `wait` tells how.
  bool done() const;
  /// What has come, once: of a receive that is done and ok.
  Message take();
  /// Takes it back. True if it will not take place: a receive leaves the message, should it come, to later ones. False
  /// if it is too late: it is done, or its first bytes are on their way.
  bool cancel();
  /// False if it was made by no channel.
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  friend int wait_any(std::span<const Pending> pending, std::chrono::duration<double> longest);
  std::shared_ptr<PendingHandle> handle_;
};

/// Waits until one of them, all of the same group, is done: its index, -1 if none is in that time.
int wait_any(std::span<const Pending> pending, std::chrono::duration<double> longest);

struct ChannelOptions {
  /// Where several channels have something for the same peer, the one with the highest goes first.
  int priority = 0;
};

/// Messages between members that wait for nobody: each says its own size, and is kept by the receiver until somebody
/// asks for it. Any number of threads may use one channel at a time. Those from one sender with one tag arrive in the
/// order in which they were sent; who asks for another tag does not wait for them.
///
/// A receiver keeps up to 16 MiB for each channel and sender, and one message beyond; the sender's further messages of
/// this channel wait at the sender until some were asked for. Other channels go on meanwhile.
///
/// If a peer is lost, what was sent to it and is to come from it or from anybody fails; messages with others go on
/// until the group changes.
class Channel {
 public:
  /// No message is longer.
  static constexpr size_t kMostBytes = size_t{4} << 30U;

  virtual ~Channel() = default;

  /// Done when buffers have taken it: that does not say that it has arrived. A member may send to itself.
  virtual Pending send(int peer, std::vector<std::byte> bytes, uint32_t tag = 0) = 0;
  /// Of a copy of the bytes.
  virtual Pending send(int peer, std::span<const std::byte> bytes, uint32_t tag = 0) = 0;
  /// The next message from a peer, or kAnybody.
  virtual Pending receive(int peer, uint32_t tag = 0) = 0;
  /// Of this channel at this member, all objects of the same id together.
  virtual Traffic traffic() const = 0;
};

}  // namespace thalweg::comm
