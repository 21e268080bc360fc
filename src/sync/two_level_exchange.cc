// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Two levels (MXNet): inside each host gradients are added up first, and one proxy for each host exchanges the sums
// with the others: each of these owns an equal part. So between hosts travels no more than if each were one worker. The
// weights come back in the same way. On one host its first member owns everything.
#include <algorithm>
#include <vector>

#include "sync/topology.h"

namespace thalweg::sync {
namespace {

class TwoLevelExchange : public OwnerExchange {
 public:
  explicit TwoLevelExchange(int copies)
      : copies_(copies), among_proxies_(topology("scatter-reduce").make_for_owners(copies)) {}

  Shard::Place place(comm::Group& group) override {
    comm::Communicator& all = group.communicator();
    hosts_ = all.hosts();
    const auto has_this = [&](const std::vector<int>& ranks) {
      return std::find(ranks.begin(), ranks.end(), all.rank()) != ranks.end();
    };
    const auto own = std::find_if(hosts_.begin(), hosts_.end(), has_this);
    host_ = all.split(*own);
    const bool is_proxy = host_->rank() == 0;
    proxies_ = is_proxy ? all.split(first_members()) : nullptr;
    const auto parts = static_cast<int>(hosts_.size());
    // On one host all have the sums, and some keep copies.
    if (parts == 1) return {1, 0, host_->rank() <= copies_ ? 0 : -1};
    return {parts, static_cast<int>(own - hosts_.begin()), is_proxy ? std::min(copies_, parts - 1) : -1};
  }
  ShardSources sources(comm::Group& group) const override {
    const std::vector<std::vector<int>> hosts = group.communicator().hosts();
    ShardSources result{static_cast<int>(hosts.size()), {}};
    for (const std::vector<int>& ranks : hosts) result.source.push_back(ranks[0]);
    return result;
  }
  std::vector<Piece> own_pieces(comm::Group& /*group*/, const GradientBuckets& buckets) const override {
    if (proxies_ == nullptr) return {};
    return buckets.pieces(proxies_->size(), proxies_->rank());
  }

  comm::Status collect(comm::Communicator& /*communicator*/, GradientExchange& exchange,
                       std::span<float> bucket) override {
    comm::Status status = hosts_.size() == 1
                              ? host_->all_reduce(bucket.data(), bucket.size(), DType::kF32)
                              : host_->reduce(bucket.data(), bucket.size(), DType::kF32, comm::ReduceOp::kSum, 0);
    if (!status || proxies_ == nullptr || hosts_.size() == 1) return status;
    return among_proxies_->collect(*proxies_, exchange, bucket);
  }

  comm::Status hand_out(comm::Communicator& /*communicator*/, std::span<float> bucket) override {
    if (proxies_ != nullptr) {
      if (comm::Status status = among_proxies_->hand_out(*proxies_, bucket); !status) return status;
    }
    return host_->broadcast(bucket.data(), bucket.size_bytes(), 0);
  }

  void release() override {
    host_.reset();
    proxies_.reset();
  }

 private:
  std::vector<int> first_members() const {
    std::vector<int> ranks;
    for (const std::vector<int>& host : hosts_) ranks.push_back(host[0]);
    return ranks;
  }

  int copies_;
  std::unique_ptr<OwnerExchange> among_proxies_;
  std::vector<std::vector<int>> hosts_;
  /// The members of this host, and of those that are the first of theirs the one that all such are in.
  std::unique_ptr<comm::Communicator> host_, proxies_;
};

const RegisterTopology kTwoLevels({"two levels", Exchange::kTwoLevels, false,
                                   [](int copies) -> std::unique_ptr<OwnerExchange> {
                                     return std::make_unique<TwoLevelExchange>(copies);
                                   }});

}  // namespace

}  // namespace thalweg::sync
