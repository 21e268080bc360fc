// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thalweg/tensor.h"

namespace thalweg::comm {

enum class FailureKind {
  kTimeout,       ///< the deadline passed
  kPeerLost,      ///< the connection to a peer broke
  kGroupChanged,  ///< the membership changed meanwhile: meet again at the next epoch
  kProtocol       ///< a peer sent what nobody asked for
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

enum class ReduceOp { kSum, kMin, kMax, kProduct };

/// The elements [begin, end) that belong to one of several members.
struct Part {
  size_t begin = 0;
  size_t end = 0;
  size_t size() const { return end - begin; }
};
/// Cuts `count` elements into `parts` of nearly equal size; the first ones are larger by one element.
Part part_of(size_t count, int parts, int index);

/// Collective operations among the members of a group: every member calls the same ones in the same order with the same
/// sizes, from one thread at a time. Between processes of one host data goes through shared memory, otherwise over the
/// network. The order of sums depends on ranks and sizes alone: the same values give the same bits, on every member and
/// every time. Sums of bf16 and f16 are computed in f32 and rounded after each addition.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Every member ends with the reduction of all.
  virtual Status all_reduce(void* data, size_t count, DType dtype, ReduceOp op = ReduceOp::kSum) = 0;
  /// Member r ends with the reduction of part r of the data (part_of); the other parts hold nothing of use.
  virtual Status reduce_scatter(void* data, size_t count, DType dtype, ReduceOp op = ReduceOp::kSum) = 0;
  /// Member r brings part r of the data (part_of), and every member ends with all parts.
  virtual Status all_gather(void* data, size_t count, DType dtype) = 0;
  virtual Status broadcast(void* data, size_t bytes, int root) = 0;
  /// The root ends with the reduction; what the others hold then is of no use.
  virtual Status reduce(void* data, size_t count, DType dtype, ReduceOp op, int root) = 0;
  /// `all` has room for `bytes` of every member, in order of rank, and is used by the root only.
  virtual Status gather(const void* mine, size_t bytes, void* all, int root) = 0;
  /// Block r of `outgoing` goes to member r; block r of `incoming` comes from it.
  virtual Status all_to_all(const void* outgoing, void* incoming, size_t bytes_each) = 0;
  virtual Status barrier() = 0;

  /// Returns when the receiver has taken the data or buffers hold it: two members that both send first may wait for
  /// each other until the deadline. Use `exchange` then.
  virtual Status send(int peer, uint32_t tag, const void* data, size_t bytes) = 0;
  /// The size must be the sender's. Messages of one sender with the same tag arrive in order.
  virtual Status receive(int peer, uint32_t tag, void* data, size_t bytes) = 0;
  virtual Status exchange(int to, const void* outgoing, size_t outgoing_bytes, int from, void* incoming,
                          size_t incoming_bytes, uint32_t tag) = 0;

  /// Fails the call under way and every later one. From any thread.
  virtual void abort(const std::string& why) = 0;
  /// How long a call may take at most.
  virtual void set_timeout(std::chrono::duration<double> timeout) = 0;
};

}  // namespace thalweg::comm
