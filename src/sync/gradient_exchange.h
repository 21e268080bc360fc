// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>

#include "runtime/variables.h"
#include "sync/compress/compressor.h"
#include "sync/gradient_buckets.h"
#include "thalweg/comm.h"

namespace thalweg::sync {

/// Adds up buckets of gradients over all workers, in a compressor's form if there is one.
class GradientExchange {
 public:
  /// Null: as they are.
  static std::unique_ptr<GradientExchange> make(std::unique_ptr<Compressor> compressor);
  /// The same for topologies along which nobody adds up codes: `carried` and `add_carried` serve there, and codes are
  /// made only then, of what the bucket has by that time. Nobody can be watched.
  static std::unique_ptr<GradientExchange> make_carried(std::unique_ptr<Compressor> compressor);
  virtual ~GradientExchange() = default;

  /// None if gradients travel as they are.
  Compressor* compressor() { return compressor_.get(); }
  /// The buckets that follow are these. What the compressor keeps stays.
  void use(const GradientBuckets& buckets, const Variables& variables);
  const std::vector<GradientShape>& shapes() const { return shapes_; }
  /// From now on, calls `sees` with what the code of one rank stands for, gradient by gradient, when it is decoded;
  /// where codes are added up, with its share of the sum if that is what the compressor takes off. Rank -1: nobody's.
  using Sees = std::function<void(size_t gradient, std::span<const float> values)>;
  void watch(int rank, Sees sees);
  void begin_step(const CodeStep& step);
  /// Before a bucket's exchange, which may be on another thread: encodes it. So the wire is busy with one bucket while
  /// the next is encoded.
  virtual void begin(std::span<float> bucket) = 0;
  /// As the communicator's operations of these names; after an all-reduce `end` must follow, on whichever thread.
  virtual comm::Status all_reduce(comm::Communicator& communicator, std::span<float> bucket) = 0;
  virtual comm::Status reduce_scatter(comm::Communicator& communicator, std::span<float> bucket) = 0;
  /// Fails if somebody has sent what is no code.
  virtual comm::Status end(std::span<float> bucket) = 0;

  /// What stands for the bucket; null if that travels as it is.
  virtual const Bytes* carried(std::span<float> /*bucket*/) { return nullptr; }
  virtual size_t most_carried_bytes(std::span<float> bucket) { return bucket.size_bytes(); }
  /// Adds what somebody's code stands for. Fails if it is none.
  virtual comm::Status add_carried(int /*from*/, std::span<const std::byte> /*code*/, std::span<float> /*bucket*/) {
    return {};
  }

 protected:
  explicit GradientExchange(std::unique_ptr<Compressor> compressor) : compressor_(std::move(compressor)) {}

  /// A gradient in a bucket.
  struct Item {
    size_t gradient = 0;
    size_t begin = 0;
    size_t floats = 0;
  };
  struct Bucket {
    std::vector<Item> items;
    /// This worker's code, then the sum of all or, one after the other, everybody's.
    Bytes code;
    /// Of every worker's.
    std::vector<int64_t> sizes;
  };
  Bucket& bucket_of(std::span<float> values) { return buckets_.at(values.data()); }
  int workers() const { return workers_; }
  int watched() const { return watched_; }
  void tell(size_t gradient, std::span<const float> values) const { sees_(gradient, values); }

 private:
  std::unique_ptr<Compressor> compressor_;
  std::vector<GradientShape> shapes_;
  int workers_ = 1;
  int watched_ = -1;
  Sees sees_;
  /// By where their gradients lie.
  std::map<const float*, Bucket> buckets_;
};

}  // namespace thalweg::sync
