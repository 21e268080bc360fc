// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Codes that only their own compressor understands: everybody gets those of all, and adds up what they stand for.
#include <algorithm>
#include <cstring>

#include "sync/compress/bits.h"
#include "sync/gather_parts.h"
#include "sync/gradient_exchange.h"

namespace thalweg::sync {
namespace {

comm::Failure bad_code(size_t rank, const std::string& what) {
  return {comm::FailureKind::kProtocol, static_cast<int>(rank), what, 0};
}

class GatheredExchange : public GradientExchange {
 public:
  GatheredExchange(std::unique_ptr<Compressor> owned, GatheredCompressor& compressor)
      : GradientExchange(std::move(owned)), gathered_(compressor) {}

  void begin(std::span<float> values) override {
    if (gathered_.agrees()) return;
    Bucket& bucket = bucket_of(values);
    encode(bucket, values, std::vector<float>(bucket.items.size()));
  }

  comm::Status all_reduce(comm::Communicator& communicator, std::span<float> values) override {
    Bucket& bucket = bucket_of(values);
    if (gathered_.agrees()) {
      if (comm::Status status = agree(communicator, bucket, values); !status) return status;
    }
    return gather(communicator, bucket);
  }

  comm::Status reduce_scatter(comm::Communicator& communicator, std::span<float> values) override {
    comm::Status status = all_reduce(communicator, values);
    return status.ok() ? end(values) : status;
  }

  comm::Status end(std::span<float> values) override {
    const Bucket& bucket = bucket_of(values);
    std::fill(values.begin(), values.end(), 0.0F);
    std::span<const std::byte> rest = bucket.code;
    for (size_t rank = 0; rank < bucket.sizes.size(); ++rank) {
      const auto size = static_cast<size_t>(bucket.sizes[rank]);
      try {
        add_code(bucket, rest.subspan(0, size), values, static_cast<int>(rank) == watched());
      } catch (const Error& error) {
        return bad_code(rank, error.what());
      }
      rest = rest.subspan(size);
    }
    return {};
  }

 private:
  void encode(Bucket& bucket, std::span<const float> values, const std::vector<float>& agreed) {
    bucket.code.clear();
    for (size_t i = 0; i < bucket.items.size(); ++i) {
      const Item& item = bucket.items[i];
      // Each code has its size before it.
      const size_t begin = bucket.code.size();
      put_number(bucket.code, uint32_t{0});
      gathered_.encode(item.gradient, values.subspan(item.begin, item.floats), agreed[i], bucket.code);
      const auto size = static_cast<uint32_t>(bucket.code.size() - begin - sizeof(uint32_t));
      std::memcpy(bucket.code.data() + begin, &size, sizeof size);
    }
  }

  comm::Status agree(comm::Communicator& communicator, Bucket& bucket, std::span<const float> values) {
    std::vector<float> numbers;
    for (const Item& item : bucket.items) {
      numbers.push_back(gathered_.measure(item.gradient, values.subspan(item.begin, item.floats)));
    }
    comm::Status status = communicator.all_reduce(numbers.data(), numbers.size(), DType::kF32, comm::ReduceOp::kMax);
    if (status.ok()) encode(bucket, values, numbers);
    return status;
  }

  size_t most_bytes(const Bucket& bucket) const {
    size_t bytes = 0;
    for (const Item& item : bucket.items) bytes += sizeof(uint32_t) + gathered_.most_bytes(item.gradient);
    return bytes;
  }

  comm::Status gather(comm::Communicator& communicator, Bucket& bucket) {
    bucket.sizes.assign(static_cast<size_t>(communicator.size()), 0);
    bucket.sizes[static_cast<size_t>(communicator.rank())] = static_cast<int64_t>(bucket.code.size());
    comm::Status status = communicator.all_gather(bucket.sizes.data(), bucket.sizes.size(), DType::kI64);
    if (!status) return status;
    const auto most = static_cast<int64_t>(most_bytes(bucket));
    for (size_t rank = 0; rank < bucket.sizes.size(); ++rank) {
      if (bucket.sizes[rank] >= 0 && bucket.sizes[rank] <= most) continue;
      return bad_code(rank, "it announced a code of " + std::to_string(bucket.sizes[rank]) +
                                " bytes for gradients that take at most " + std::to_string(most));
    }
    std::vector<uint8_t> all(bucket.code.size());
    std::memcpy(all.data(), bucket.code.data(), all.size());
    if (status = gather_parts(communicator, all, bucket.sizes, 1); !status) return status;
    bucket.code.resize(all.size());
    std::memcpy(bucket.code.data(), all.data(), all.size());
    return {};
  }

  void add_code(const Bucket& bucket, std::span<const std::byte> code, std::span<float> values, bool is_watched) {
    for (const Item& item : bucket.items) {
      const auto size = take_number<uint32_t>(code);
      TW_REQUIRE(size <= code.size(), "the code of a gradient should have ", size, " bytes, there are ", code.size());
      const std::span<float> sum = values.subspan(item.begin, item.floats);
      if (is_watched) {
        seen_.assign(item.floats, 0.0F);
        gathered_.decode_add(item.gradient, code.subspan(0, size), seen_);
        tell(item.gradient, seen_);
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += seen_[i];
      } else {
        gathered_.decode_add(item.gradient, code.subspan(0, size), sum);
      }
      code = code.subspan(size);
    }
    TW_REQUIRE(code.empty(), "codes of gradients have ", code.size(), " bytes too many");
  }

  /// Belongs to the base.
  GatheredCompressor& gathered_;
  std::vector<float> seen_;
};

}  // namespace

std::unique_ptr<GradientExchange> GatheredCompressor::into_exchange(std::unique_ptr<Compressor> self) {
  return std::make_unique<GatheredExchange>(std::move(self), *this);
}

}  // namespace thalweg::sync
