// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Codes that are added up on their way: all-reduce or reduce-scatter of the codes, in as many rounds as they take.
#include "sync/gradient_exchange.h"

namespace thalweg::sync {
namespace {

class SummedExchange : public GradientExchange {
 public:
  SummedExchange(std::unique_ptr<Compressor> owned, SummedCompressor& compressor)
      : GradientExchange(std::move(owned)), summed_(compressor) {}

  void begin(std::span<float> values) override {
    Bucket& bucket = bucket_of(values);
    bucket.code.resize(code_bytes(bucket, 0));
    size_t at = 0;
    for (const Item& item : bucket.items) {
      summed_.encode(item.gradient, values.subspan(item.begin, item.floats), bucket.code.data() + at);
      at += item_bytes(item, 0);
    }
  }

  comm::Status all_reduce(comm::Communicator& communicator, std::span<float> values) override {
    Bucket& bucket = bucket_of(values);
    for (int round = 0;; ++round) {
      comm::Status status = communicator.all_reduce(bucket.code.data(), code_elements(bucket, round), summed_.dtype());
      if (!status || round + 1 == summed_.rounds()) return status;
      encode_next(bucket, round);
    }
  }

  comm::Status reduce_scatter(comm::Communicator& communicator, std::span<float> values) override {
    // Sums of one round are needed for this worker's part only; everything else is needed whole.
    if (summed_.rounds() > 1) {
      comm::Status status = all_reduce(communicator, values);
      return status.ok() ? end(values) : status;
    }
    Bucket& bucket = bucket_of(values);
    comm::Status status = communicator.reduce_scatter(bucket.code.data(), code_elements(bucket, 0), summed_.dtype());
    if (status.ok()) decode(bucket, values, comm::part_of(values.size(), communicator.size(), communicator.rank()));
    return status;
  }

  comm::Status end(std::span<float> values) override {
    decode(bucket_of(values), values, {0, values.size()});
    return {};
  }

 private:
  size_t item_bytes(const Item& item, int round) const {
    return summed_.code_elements(item.gradient, round) * size_of(summed_.dtype());
  }
  size_t code_bytes(const Bucket& bucket, int round) const {
    size_t bytes = 0;
    for (const Item& item : bucket.items) bytes += item_bytes(item, round);
    return bytes;
  }
  size_t code_elements(const Bucket& bucket, int round) const {
    return code_bytes(bucket, round) / size_of(summed_.dtype());
  }

  /// The code of a round is the sum of all: makes it that of the next one.
  void encode_next(Bucket& bucket, int round) {
    Bytes next(code_bytes(bucket, round + 1));
    size_t from = 0, to = 0;
    for (const Item& item : bucket.items) {
      summed_.encode_next(item.gradient, round + 1, bucket.code.data() + from, next.data() + to);
      from += item_bytes(item, round);
      to += item_bytes(item, round + 1);
    }
    bucket.code = std::move(next);
  }

  void decode(const Bucket& bucket, std::span<float> values, const comm::Part& part) {
    size_t at = 0;
    for (const Item& item : bucket.items) {
      const bool is_wanted = item.begin < part.end && item.begin + item.floats > part.begin;
      const std::span<float> sum = values.subspan(item.begin, item.floats);
      if (is_wanted) {
        summed_.decode(item.gradient, bucket.code.data() + at, sum);
        if (watched() >= 0 && summed_.shares_sum(item.gradient)) tell_share(item.gradient, sum);
      }
      at += item_bytes(item, summed_.rounds() - 1);
    }
  }

  /// Tells of a sum that all workers have an equal share of.
  void tell_share(size_t gradient, std::span<const float> sum) {
    const auto share = 1.0F / static_cast<float>(workers());
    seen_.resize(sum.size());
    for (size_t i = 0; i < sum.size(); ++i) seen_[i] = share * sum[i];
    tell(gradient, seen_);
  }

  /// Belongs to the base.
  SummedCompressor& summed_;
  std::vector<float> seen_;
};

}  // namespace

std::unique_ptr<GradientExchange> SummedCompressor::into_exchange(std::unique_ptr<Compressor> self) {
  return std::make_unique<SummedExchange>(std::move(self), *this);
}

}  // namespace thalweg::sync
