// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sync/topology.h"

namespace thalweg::sync {
namespace {

constexpr uint32_t kCopyTag = 1;

class ScatterExchange : public OwnerExchange {
 public:
  explicit ScatterExchange(int copies) : copies_(copies) {}

  Shard::Place place(comm::Group& group) override {
    return {group.size(), group.rank(), std::min(copies_, group.size() - 1)};
  }
  ShardSources sources(comm::Group& group) const override { return own_parts(group.size()); }
  std::vector<Piece> own_pieces(comm::Group& group, const GradientBuckets& buckets) const override {
    return buckets.pieces(group.size(), group.rank());
  }

  comm::Status collect(comm::Communicator& communicator, GradientExchange& exchange, std::span<float> bucket) override {
    comm::Status status = exchange.reduce_scatter(communicator, bucket);
    const int size = communicator.size(), rank = communicator.rank();
    const auto part = [&](int owner) {
      const comm::Part range = comm::part_of(bucket.size(), size, owner);
      return bucket.subspan(range.begin, range.size());
    };
    const int copies = std::min(copies_, size - 1);
    for (int distance = 1; distance <= copies && status.ok(); ++distance) {
      const int to = (rank + distance) % size, from = (rank - distance + size) % size;
      status = communicator.exchange(to, part(rank).data(), part(rank).size_bytes(), from, part(from).data(),
                                     part(from).size_bytes(), kCopyTag);
    }
    return status;
  }

  comm::Status hand_out(comm::Communicator& communicator, std::span<float> bucket) override {
    return communicator.all_gather(bucket.data(), bucket.size(), DType::kF32);
  }

 private:
  int copies_;
};

/// Member r owns part r of n: reduce-scatter and all-gather.
const RegisterTopology kScatter({"scatter-reduce", Exchange::kScatterReduce, true,
                                 [](int copies) -> std::unique_ptr<OwnerExchange> {
                                   return std::make_unique<ScatterExchange>(copies);
                                 }});

}  // namespace

}  // namespace thalweg::sync
