// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/mpi_transport.h"

#include <algorithm>
#include <thread>

#include "base/text.h"

namespace thalweg::comm {
namespace {

/// MPI counts bytes in an int.
constexpr size_t kMostBytes = size_t{1} << 30U;
/// How long messages that failed are given to be taken back.
constexpr std::chrono::milliseconds kWithdrawal{200};

/// Between two looks at messages that have not moved. MPI works only while it is asked: at first one asks without a
/// break, and later leaves the processor to those who compute.
class Pause {
 public:
  void reset() { looks_ = 0; }
  void wait() {
    constexpr int kEagerLooks = 200;
    constexpr std::chrono::microseconds kRest{50};
    if (++looks_ <= kEagerLooks) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kRest);
    }
  }

 private:
  int looks_ = 0;
};

std::string activity(Transfer::Kind kind, size_t bytes) {
  return (kind == Transfer::Kind::kSend ? "sending " : "receiving ") + human_bytes(static_cast<double>(bytes));
}

}  // namespace

Status MpiTransport::run(std::span<const Transfer> transfers, const Deadline& deadline) {
  if (!failed_.ok()) return failed_;
  std::vector<Request> requests;
  // Receives first: what arrives then goes straight to its place.
  Status status = begin(transfers, Transfer::Kind::kReceive, requests);
  if (status.ok()) status = begin(transfers, Transfer::Kind::kSend, requests);
  if (status.ok()) status = wait(requests, deadline);
  if (status.ok()) {
    count(transfers);
    return status;
  }
  failed_ = status;
  withdraw(requests);
  world_->give_up();
  return status;
}

Status MpiTransport::begin(std::span<const Transfer> transfers, Transfer::Kind kind, std::vector<Request>& requests) {
  for (const Transfer& transfer : transfers) {
    if (transfer.kind != kind) continue;
    TW_REQUIRE(transfer.peer >= 0 && transfer.peer < size() && transfer.peer != rank(), "rank ", rank(), " of ", size(),
               " cannot exchange messages with rank ", transfer.peer);
    const auto limit = static_cast<uint32_t>(world_->largest_tag());
    const bool collective = transfer.tag.space == TagSpace::kCollective;
    TW_REQUIRE(collective || transfer.tag.number <= limit, "MPI's tags end at ", limit, ", before ",
               transfer.tag.number);
    // Those of collective operations follow each other; long before one comes again the first is through.
    const uint32_t tag = collective ? transfer.tag.number % (limit + 1) : transfer.tag.number;
    size_t begun = 0;
    do {
      const size_t bytes = std::min(kMostBytes, transfer.bytes - begun);
      const ThalwegMpiMessage message{kind == Transfer::Kind::kSend ? 1 : 0,
                                      transfer.peer,
                                      static_cast<int>(transfer.tag.space),
                                      static_cast<int>(tag),
                                      transfer.data + begun,
                                      static_cast<int>(bytes)};
      uint64_t handle = 0;
      if (const std::string error = world_->begin(message, handle); !error.empty()) {
        return Failure{FailureKind::kPeerLost, transfer.peer, activity(kind, bytes) + ": " + error, 0};
      }
      requests.push_back({kind, transfer.peer, bytes, handle});
      begun += bytes;
    } while (begun < transfer.bytes);
  }
  return {};
}

Status MpiTransport::wait(std::vector<Request>& requests, const Deadline& deadline) {
  for (Pause pause; !requests.empty(); pause.wait()) {
    if (Status status = check(requests, deadline); !status) return status;
    bool moved = false;
    if (Status status = progress(requests, moved); !status) {
      Failure failure = status.failure();
      failure.seconds = deadline.elapsed();
      return failure;
    }
    if (moved) pause.reset();
  }
  return {};
}

Status MpiTransport::progress(std::vector<Request>& requests, bool& moved) {
  Status status;
  const size_t erased = std::erase_if(requests, [&](Request& request) {
    bool done = false;
    if (status.ok()) status = test(request, done);
    return done;
  });
  moved = erased > 0;
  return status;
}

Status MpiTransport::test(Request& request, bool& done) {
  size_t bytes = 0;
  const std::string error = world_->test(request.handle, done, bytes);
  done |= !error.empty();
  if (!error.empty()) {
    return Failure{FailureKind::kPeerLost, request.peer, activity(request.kind, request.bytes) + ": " + error, 0};
  }
  if (!done || request.kind == Transfer::Kind::kSend || bytes == request.bytes) return {};
  return Failure{FailureKind::kProtocol, request.peer,
                 "it sent a message of " + std::to_string(bytes) + " bytes where " + std::to_string(request.bytes) +
                     " are expected",
                 0};
}

Status MpiTransport::check(const std::vector<Request>& requests, const Deadline& deadline) {
  if (aborted_.load(std::memory_order_acquire)) {
    const std::lock_guard<std::mutex> lock(abort_mutex_);
    return Failure{FailureKind::kGroupChanged, -1, abort_reason_, deadline.elapsed()};
  }
  if (!deadline.expired()) return {};
  const Request& first = requests.front();
  return Failure{FailureKind::kTimeout, first.peer, activity(first.kind, first.bytes) + ": no progress",
                 deadline.elapsed()};
}

void MpiTransport::withdraw(std::vector<Request>& requests) {
  for (Request& request : requests) {
    // MPI cannot take back what is sent.
    if (request.kind == Transfer::Kind::kReceive) world_->cancel(request.handle);
  }
  const Deadline soon(kWithdrawal);
  Pause pause;
  while (!requests.empty() && !soon.expired()) {
    // What went wrong first is told already.
    std::erase_if(requests, [&](Request& request) {
      bool done = false;
      return !test(request, done).ok() || done;
    });
    pause.wait();
  }
}

void MpiTransport::abort(const std::string& why) {
  const std::lock_guard<std::mutex> lock(abort_mutex_);
  if (aborted_.load(std::memory_order_relaxed)) return;
  abort_reason_ = why;
  aborted_.store(true, std::memory_order_release);
}

}  // namespace thalweg::comm
