// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/group_communicator.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/text.h"
#include "comm/member_channel.h"

namespace thalweg::comm {

GroupCommunicator::GroupCommunicator(std::shared_ptr<Transport> transport, std::unique_ptr<HostGroup> host, Hosts hosts,
                                     std::chrono::duration<double> timeout, Lane lane)
    : transport_(std::move(transport)),
      host_(std::move(host)),
      hosts_(std::move(hosts)),
      hierarchy_(*transport_, host_.get(), hosts_),
      all_ranks_(static_cast<size_t>(transport_->size())),
      timeout_(timeout.count()),
      lane_(std::move(lane)) {
  std::iota(all_ranks_.begin(), all_ranks_.end(), 0);
  // A lane counts what it carries by itself.
  if (lane_.whole()) transport_->count_in(lane_.counter);
  if (host_ != nullptr) host_->count_in(lane_.counter);
}

GroupCommunicator::~GroupCommunicator() {
  if (lane_.whole()) {
    lane_.messenger->close();
  } else {
    lane_.messenger->forget(lane_.context);
  }
}

Team GroupCommunicator::everyone(const Deadline& deadline) {
  return {*transport_, all_ranks_, rank(), next_tag(), deadline};
}

Status GroupCommunicator::keep(Status status) {
  if (!status && failed_.ok()) failed_ = status;
  return status;
}

Status GroupCommunicator::run(std::span<const Transfer> transfers) {
  if (!failed_.ok()) return failed_;
  return keep(transport_->run(transfers, deadline()));
}

Status GroupCommunicator::all_reduce(void* data, size_t count, DType dtype, ReduceOp op) {
  if (!failed_.ok()) return failed_;
  if (size() == 1 || count == 0) return {};
  const Deadline by = deadline();
  const Elements all{static_cast<std::byte*>(data), count, dtype, op};
  if (one_host()) return keep(host_->all_reduce(data, count, dtype, op, by));
  if (some_share_hosts()) return keep(hierarchy_.all_reduce(all, next_tag(), by));
  return keep(all_reduce_by(pick_algorithm(count * size_of(dtype), size()), everyone(by), all));
}

Status GroupCommunicator::reduce_scatter(void* data, size_t count, DType dtype, ReduceOp op) {
  if (!failed_.ok()) return failed_;
  if (size() == 1 || count == 0) return {};
  const Deadline by = deadline();
  if (one_host()) return keep(host_->reduce_scatter(data, count, dtype, op, by));
  const Elements all{static_cast<std::byte*>(data), count, dtype, op};
  if (some_share_hosts()) return keep(hierarchy_.reduce_scatter(all, next_tag(), by));
  return keep(ring_reduce_scatter(everyone(by), all));
}

Status GroupCommunicator::all_gather(void* data, size_t count, DType dtype) {
  if (!failed_.ok()) return failed_;
  if (size() == 1 || count == 0) return {};
  const Deadline by = deadline();
  if (one_host()) return keep(host_->all_gather(data, count, size_of(dtype), by));
  const Elements all{static_cast<std::byte*>(data), count, dtype, ReduceOp::kSum};
  if (some_share_hosts()) return keep(hierarchy_.all_gather(all, next_tag(), by));
  return keep(ring_all_gather(everyone(by), all));
}

Status GroupCommunicator::broadcast(void* data, size_t bytes, int root) {
  if (!failed_.ok()) return failed_;
  TW_REQUIRE(root >= 0 && root < size(), "broadcast from rank ", root, " in a group of ", size());
  if (size() == 1 || bytes == 0) return {};
  const Deadline by = deadline();
  if (one_host()) return keep(host_->broadcast(data, bytes, root, by));
  auto* memory = static_cast<std::byte*>(data);
  if (some_share_hosts()) return keep(hierarchy_.broadcast(memory, bytes, root, next_tag(), by));
  return keep(tree_broadcast(everyone(by), memory, bytes, root));
}

Status GroupCommunicator::reduce(void* data, size_t count, DType dtype, ReduceOp op, int root) {
  if (!failed_.ok()) return failed_;
  TW_REQUIRE(root >= 0 && root < size(), "reduce to rank ", root, " in a group of ", size());
  if (size() == 1 || count == 0) return {};
  const Deadline by = deadline();
  if (one_host()) return keep(host_->all_reduce(data, count, dtype, op, by));
  const Elements all{static_cast<std::byte*>(data), count, dtype, op};
  if (some_share_hosts()) return keep(hierarchy_.reduce(all, root, next_tag(), by));
  return keep(tree_reduce(everyone(by), all, root));
}

Status GroupCommunicator::gather(const void* mine, size_t bytes, void* all, int root) {
  TW_REQUIRE(root >= 0 && root < size(), "gather to rank ", root, " in a group of ", size());
  const Tag tag = next_tag();
  std::vector<Transfer> transfers;
  if (rank() != root) {
    transfers.push_back(Transfer::send(root, tag, mine, bytes));
    return run(transfers);
  }
  auto* out = static_cast<std::byte*>(all);
  for (const int peer : all_ranks_) {
    std::byte* place = out + static_cast<size_t>(peer) * bytes;
    if (peer == root) {
      std::memmove(place, mine, bytes);
    } else {
      transfers.push_back(Transfer::receive(peer, tag, place, bytes));
    }
  }
  return run(transfers);
}

Status GroupCommunicator::all_to_all(const void* outgoing, void* incoming, size_t bytes_each) {
  const Tag tag = next_tag();
  const auto* out = static_cast<const std::byte*>(outgoing);
  auto* in = static_cast<std::byte*>(incoming);
  std::vector<Transfer> transfers;
  for (int i = 1; i < size(); ++i) {
    const int to = (rank() + i) % size();
    const int from = (rank() - i + size()) % size();
    transfers.push_back(Transfer::send(to, tag, out + static_cast<size_t>(to) * bytes_each, bytes_each));
    transfers.push_back(Transfer::receive(from, tag, in + static_cast<size_t>(from) * bytes_each, bytes_each));
  }
  const size_t own = static_cast<size_t>(rank()) * bytes_each;
  std::memmove(in + own, out + own, bytes_each);
  return run(transfers);
}

Status GroupCommunicator::barrier() {
  if (!failed_.ok()) return failed_;
  if (size() == 1) return {};
  const Deadline by = deadline();
  if (one_host()) return keep(host_->barrier(by));
  std::byte nothing{};
  return keep(tree_all_reduce(everyone(by), {&nothing, 1, DType::kU8, ReduceOp::kMax}));
}

Status GroupCommunicator::send(int peer, uint32_t tag, const void* data, size_t bytes) {
  const Transfer transfer = Transfer::send(peer, {TagSpace::kUser, tag}, data, bytes);
  return run({&transfer, 1});
}

Status GroupCommunicator::receive(int peer, uint32_t tag, void* data, size_t bytes) {
  const Transfer transfer = Transfer::receive(peer, {TagSpace::kUser, tag}, data, bytes);
  return run({&transfer, 1});
}

Status GroupCommunicator::exchange(int to, const void* outgoing, size_t outgoing_bytes, int from, void* incoming,
                                   size_t incoming_bytes, uint32_t tag) {
  const Transfer transfers[] = {Transfer::send(to, {TagSpace::kUser, tag}, outgoing, outgoing_bytes),
                                Transfer::receive(from, {TagSpace::kUser, tag}, incoming, incoming_bytes)};
  return run(transfers);
}

std::unique_ptr<Channel> GroupCommunicator::channel(uint32_t id, const ChannelOptions& options) {
  const std::lock_guard<std::mutex> lock(parts_mutex_);
  std::shared_ptr<TrafficCounter>& counter = channels_[id];
  if (counter == nullptr) counter = std::make_shared<TrafficCounter>(lane_.counter);
  return std::make_unique<MemberChannel>(lane_, id, options, counter, timeout());
}

std::unique_ptr<Communicator> GroupCommunicator::split(const std::vector<int>& ranks) {
  std::vector<int> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  const bool within = !sorted.empty() && sorted.front() >= 0 && sorted.back() < size();
  const bool once = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  const bool has_self = std::binary_search(sorted.begin(), sorted.end(), rank());
  std::vector<std::string> named;
  for (const int member : ranks) named.push_back(std::to_string(member));
  TW_REQUIRE(within && once && has_self, "rank ", rank(), " of ", size(), " cannot be in a subgroup of ranks ",
             join(named, ", "), ": it must have its own rank, and each of the others at most once");
  uint64_t count = 0;
  {
    const std::lock_guard<std::mutex> lock(parts_mutex_);
    count = splits_[ranks]++;
  }
  Lane part = lane_.part(ranks, count);
  Hosts hosts;
  for (size_t i = 0; i < ranks.size(); ++i) hosts.push_back({static_cast<int>(i)});
  return std::make_unique<GroupCommunicator>(std::make_shared<LaneTransport>(part), nullptr, hosts, timeout(), part);
}

void GroupCommunicator::abort(const std::string& why) {
  transport_->abort(why);
  if (host_ != nullptr) host_->abort(why);
  if (lane_.whole()) lane_.messenger->abort(why);
}

Status split_by_color(Communicator& all, int color, std::unique_ptr<Communicator>& own) {
  std::vector<int32_t> colors(static_cast<size_t>(all.size()));
  colors[static_cast<size_t>(all.rank())] = color;
  if (Status status = all.all_gather(colors.data(), colors.size(), DType::kI32); !status) return status;
  std::vector<int> ranks;
  for (int rank = 0; rank < all.size(); ++rank) {
    if (colors[static_cast<size_t>(rank)] == color) ranks.push_back(rank);
  }
  own = color >= 0 ? all.split(ranks) : nullptr;
  return {};
}

}  // namespace thalweg::comm
