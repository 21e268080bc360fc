// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Members are numbered so that the parent of one is its number without the lowest bit that is set: 0 is the root, and
// no member is further from it than there are bits.
#include <algorithm>
#include <vector>

#include "sync/compress/bits.h"
#include "sync/topology.h"

namespace thalweg::sync {
namespace {

constexpr uint32_t kUpTag = 3, kDownTag = 4, kCopyTag = 5;

class TreeExchange : public OwnerExchange {
 public:
  explicit TreeExchange(int copies) : copies_(copies) {}

  Shard::Place place(comm::Group& group) override {
    // With -1 copies a member holds nothing.
    return {1, 0, group.rank() <= copies_ ? 0 : -1};
  }
  ShardSources sources(comm::Group& /*group*/) const override { return {1, {0}}; }
  std::vector<Piece> own_pieces(comm::Group& group, const GradientBuckets& buckets) const override {
    return group.rank() == 0 ? buckets.pieces(1, 0) : std::vector<Piece>();
  }

  comm::Status collect(comm::Communicator& communicator, GradientExchange& exchange, std::span<float> bucket) override {
    const Bytes* code = exchange.carried(bucket);
    comm::Status reduced =
        code != nullptr ? carry(communicator, exchange, *code, bucket) : reduce(communicator, bucket);
    if (!reduced) return reduced;
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

  /// The same with codes: those of a subtree go up together, each with its rank and size before it, and the root adds
  /// up what all stand for, in order of rank.
  comm::Status carry(comm::Communicator& communicator, GradientExchange& exchange, const Bytes& own,
                     std::span<float> bucket) {
    const int rank = communicator.rank(), size = communicator.size();
    const size_t most = static_cast<size_t>(size) * (2 * sizeof(uint64_t) + exchange.most_carried_bytes(bucket));
    Bytes codes;
    put_number(codes, static_cast<uint64_t>(rank));
    put_number(codes, static_cast<uint64_t>(own.size()));
    codes.insert(codes.end(), own.begin(), own.end());
    for (int distance = 1; distance < size; distance *= 2) {
      if ((rank & distance) != 0) {
        const uint64_t bytes = codes.size();
        comm::Status status = communicator.send(rank - distance, kUpTag, &bytes, sizeof bytes);
        return status.ok() ? communicator.send(rank - distance, kUpTag, codes.data(), codes.size()) : status;
      }
      if (rank + distance >= size) continue;
      uint64_t bytes = 0;
      comm::Status status = communicator.receive(rank + distance, kUpTag, &bytes, sizeof bytes);
      if (!status) return status;
      if (bytes > most) return nonsense(rank + distance, "it announced codes of " + std::to_string(bytes) + " bytes");
      const size_t before = codes.size();
      codes.resize(before + bytes);
      if (status = communicator.receive(rank + distance, kUpTag, codes.data() + before, bytes); !status) return status;
    }
    return add_up(exchange, codes, size, bucket);
  }

  static comm::Failure nonsense(int from, const std::string& what) {
    return {comm::FailureKind::kProtocol, from, what, 0};
  }

  static comm::Status add_up(GradientExchange& exchange, std::span<const std::byte> codes, int size,
                             std::span<float> bucket) {
    std::vector<std::span<const std::byte>> by_rank(static_cast<size_t>(size));
    try {
      while (!codes.empty()) {
        const auto from = take_number<uint64_t>(codes), bytes = take_number<uint64_t>(codes);
        TW_REQUIRE(from < by_rank.size() && bytes <= codes.size(), "codes that came along the tree end early");
        by_rank[from] = codes.subspan(0, bytes);
        codes = codes.subspan(bytes);
      }
    } catch (const Error& error) {
      return nonsense(-1, error.what());
    }
    std::fill(bucket.begin(), bucket.end(), 0.0F);
    for (int rank = 0; rank < size; ++rank) {
      comm::Status status = exchange.add_carried(rank, by_rank[static_cast<size_t>(rank)], bucket);
      if (!status) return status;
    }
    return {};
  }

  int copies_;
  std::vector<float> incoming_;
};

/// The first member owns everything: up and down a binomial tree.
const RegisterTopology kTree({"tree", Exchange::kTree, false, [](int copies) -> std::unique_ptr<OwnerExchange> {
                                return std::make_unique<TreeExchange>(copies);
                              }});

}  // namespace

}  // namespace thalweg::sync
