// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Members are numbered so that the parent of one is its number without the lowest bit that is set: 0 is the root, and
// no member is further from it than there are bits.
#include <algorithm>
#include <vector>

#include "sync/topology.h"

namespace thalweg::sync {
namespace {

constexpr uint32_t kUpTag = 3, kDownTag = 4, kCopyTag = 5;

class TreeExchange : public OwnerExchange {
 public:
  explicit TreeExchange(int copies) : copies_(copies) {}

  Shard::Place place(const comm::Group& group) const override {
    // With -1 copies a member holds nothing.
    return {1, 0, group.rank() <= copies_ ? 0 : -1};
  }
  ShardSources sources(int /*workers*/) const override { return {1, {0}}; }
  std::vector<Piece> own_pieces(const comm::Group& group, const GradientBuckets& buckets) const override {
    return group.rank() == 0 ? buckets.pieces(1, 0) : std::vector<Piece>();
  }

  comm::Status collect(comm::Communicator& communicator, GradientExchange& /*exchange*/,
                       std::span<float> bucket) override {
    if (comm::Status status = reduce(communicator, bucket); !status) return status;
    const int last = std::min(copies_, communicator.size() - 1);
    for (int to = 1; to <= last && communicator.rank() == 0; ++to) {
      comm::Status status = communicator.send(to, kCopyTag, bucket.data(), bucket.size_bytes());
      if (!status) return status;
    }
    if (communicator.rank() == 0 || communicator.rank() > last) return {};
    return communicator.receive(0, kCopyTag, bucket.data(), bucket.size_bytes());
  }

  comm::Status hand_out(comm::Communicator& communicator, std::span<float> bucket) override {
    const int rank = communicator.rank(), size = communicator.size();
    int distance = 1;
    while (distance < size && (rank & distance) == 0) distance *= 2;
    if (rank != 0) {
      comm::Status status = communicator.receive(rank - distance, kDownTag, bucket.data(), bucket.size_bytes());
      if (!status) return status;
    }
    for (distance /= 2; distance >= 1; distance /= 2) {
      if (rank + distance >= size) continue;
      comm::Status status = communicator.send(rank + distance, kDownTag, bucket.data(), bucket.size_bytes());
      if (!status) return status;
    }
    return {};
  }

 private:
  /// The root ends with the sum, in an order that depends on the ranks alone.
  comm::Status reduce(comm::Communicator& communicator, std::span<float> bucket) {
    const int rank = communicator.rank(), size = communicator.size();
    for (int distance = 1; distance < size; distance *= 2) {
      if ((rank & distance) != 0) {
        return communicator.send(rank - distance, kUpTag, bucket.data(), bucket.size_bytes());
      }
      if (rank + distance >= size) continue;
      incoming_.resize(bucket.size());
      comm::Status status =
          communicator.receive(rank + distance, kUpTag, incoming_.data(), incoming_.size() * sizeof(float));
      if (!status) return status;
#pragma omp simd
      for (size_t i = 0; i < bucket.size(); ++i) bucket[i] += incoming_[i];
    }
    return {};
  }

  int copies_;
  std::vector<float> incoming_;
};

/// The first member owns everything: up and down a binomial tree. Inner nodes add up what comes, which codes do not
/// allow.
const RegisterTopology kTree({"tree", Exchange::kTree, false, [](int copies) -> std::unique_ptr<OwnerExchange> {
                                return std::make_unique<TreeExchange>(copies);
                              }});

}  // namespace

}  // namespace thalweg::sync
