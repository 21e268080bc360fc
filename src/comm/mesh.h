// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "comm/file_descriptor.h"
#include "comm/message_stream.h"
#include "comm/shared_area.h"
#include "comm/transport.h"

namespace thalweg::comm {

/// The links of one member to its peers. A peer may have several, over which long messages are spread.
struct PeerLinks {
  std::vector<std::unique_ptr<Link>> streams;
};

/// A transport over a link, or several, to every other member, of whatever kind. The thread that calls `run` moves the
/// data itself: there is no other thread that would have to be woken.
class Mesh : public Transport {
 public:
  /// One entry for each rank, the own one empty. `area` is what the links through shared memory lie in, where this
  /// member has the number `member`; null if there are none.
  Mesh(int rank, std::vector<PeerLinks> links, std::shared_ptr<SharedArea> area, int member);

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(peers_.size()); }
  Status run(std::span<const Transfer> transfers, const Deadline& deadline) override;
  void abort(const std::string& why) override;

 private:
  struct Peer {
    std::vector<MessageStream> streams;
    bool idle() const;
  };
  void queue(const Transfer& transfer);
  /// True if anything moved.
  bool progress();
  bool idle() const;
  void wait(uint32_t doorbell_seen, const Deadline& deadline);
  Status check(const Deadline& deadline);
  Status broken_stream(double seconds) const;
  Status timed_out(double seconds) const;

  int rank_;
  std::vector<Peer> peers_;
  std::shared_ptr<SharedArea> area_;
  Signal* doorbell_ = nullptr;
  FileDescriptor wake_;
  /// Peers with something under way.
  std::vector<int> active_;
  std::vector<pollfd> polled_;
  Status failed_;

  std::atomic<bool> aborted_{false};
  std::mutex abort_mutex_;
  std::string abort_reason_;
};

}  // namespace thalweg::comm
