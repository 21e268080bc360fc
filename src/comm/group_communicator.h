// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "comm/hierarchy.h"
#include "comm/lane_transport.h"

namespace thalweg::comm {

/// Collectives over a transport, and through shared memory where members share a host: on one host everything that has
/// the form of a collective goes through it; with several hosts, it is made inside each of them first.
class GroupCommunicator : public Communicator {
 public:
  /// `host` is null if this member shares its host with no other. `hosts` lists every rank once.
  GroupCommunicator(std::shared_ptr<Transport> transport, std::unique_ptr<HostGroup> host, Hosts hosts,
                    std::chrono::duration<double> timeout, Lane lane);
  /// Whoever still has a channel of it cannot use that any more.
  ~GroupCommunicator() override;
  GroupCommunicator(const GroupCommunicator&) = delete;
  GroupCommunicator& operator=(const GroupCommunicator&) = delete;

  int rank() const override { return transport_->rank(); }
  int size() const override { return transport_->size(); }
  Hosts hosts() const override { return hosts_; }

  Status all_reduce(void* data, size_t count, DType dtype, ReduceOp op) override;
  Status reduce_scatter(void* data, size_t count, DType dtype, ReduceOp op) override;
  Status all_gather(void* data, size_t count, DType dtype) override;
  Status broadcast(void* data, size_t bytes, int root) override;
  Status reduce(void* data, size_t count, DType dtype, ReduceOp op, int root) override;
  Status gather(const void* mine, size_t bytes, void* all, int root) override;
  Status all_to_all(const void* outgoing, void* incoming, size_t bytes_each) override;
  Status barrier() override;
  Status send(int peer, uint32_t tag, const void* data, size_t bytes) override;
  Status receive(int peer, uint32_t tag, void* data, size_t bytes) override;
  Status exchange(int to, const void* outgoing, size_t outgoing_bytes, int from, void* incoming, size_t incoming_bytes,
                  uint32_t tag) override;
  std::unique_ptr<Channel> channel(uint32_t id, const ChannelOptions& options) override;
  std::unique_ptr<Communicator> split(const std::vector<int>& ranks) override;
  Traffic traffic() const override { return lane_.counter->total(); }
  void abort(const std::string& why) override;
  void set_timeout(std::chrono::duration<double> timeout) override { timeout_.store(timeout.count()); }

 private:
  bool one_host() const { return hosts_.size() == 1 && host_ != nullptr; }
  bool some_share_hosts() const { return hosts_.size() < all_ranks_.size(); }
  /// Every rank, by messages.
  Team everyone(const Deadline& deadline);
  Tag next_tag() { return {TagSpace::kCollective, ++sequence_}; }
  /// A failure stays: part of a message may be under way, and the others are at another place.
  Status keep(Status status);
  Status run(std::span<const Transfer> transfers);
  std::chrono::duration<double> timeout() const { return std::chrono::duration<double>(timeout_.load()); }
  Deadline deadline() const { return Deadline(timeout()); }

  std::shared_ptr<Transport> transport_;
  std::unique_ptr<HostGroup> host_;
  Hosts hosts_;
  Hierarchy hierarchy_;
  std::vector<int> all_ranks_;
  /// In seconds.
  std::atomic<double> timeout_;
  uint32_t sequence_ = 0;
  Status failed_;

  Lane lane_;
  std::mutex parts_mutex_;
  std::map<uint32_t, std::shared_ptr<TrafficCounter>> channels_;
  /// How often it was split by the same list of ranks: each time is another subgroup.
  std::map<std::vector<int>, uint64_t> splits_;
};

}  // namespace thalweg::comm
