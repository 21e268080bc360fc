// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Codes that nobody adds up on their way: those who need a sum get every worker's, and add up what they stand for. So a
// topology may carry them along whatever ways it has.
#include <algorithm>
#include <cstring>

#include "sync/compress/bits.h"
#include "sync/gather_parts.h"
#include "sync/gradient_exchange.h"

namespace thalweg::sync {
namespace {

class CarriedExchange : public GradientExchange {
 public:
  explicit CarriedExchange(std::unique_ptr<Compressor> compressor) : GradientExchange(std::move(compressor)) {}

  /// What travels is known when others have been added to it, perhaps.
  void begin(std::span<float> /*values*/) override {}

  const Bytes* carried(std::span<float> values) override {
    Bucket& bucket = bucket_of(values);
    bucket.code.clear();
    for (const Item& item : bucket.items) {
      // Each code has its size before it.
      const size_t begin = bucket.code.size();
      put_number(bucket.code, uint64_t{0});
      compressor()->encode_alone(item.gradient, values.subspan(item.begin, item.floats), bucket.code);
      const uint64_t size = bucket.code.size() - begin - sizeof(uint64_t);
      std::memcpy(bucket.code.data() + begin, &size, sizeof size);
    }
    return &bucket.code;
  }

  size_t most_carried_bytes(std::span<float> values) override {
    size_t bytes = 0;
    for (const Item& item : bucket_of(values).items) {
      bytes += sizeof(uint64_t) + compressor()->most_bytes_alone(item.gradient);
    }
    return bytes;
  }

  comm::Status add_carried(int from, std::span<const std::byte> code, std::span<float> values) override {
    try {
      for (const Item& item : bucket_of(values).items) {
        const auto size = take_number<uint64_t>(code);
        TW_REQUIRE(size <= code.size(), "the code of a gradient should have ", size, " bytes, there are ", code.size());
        compressor()->decode_alone(item.gradient, code.subspan(0, size), values.subspan(item.begin, item.floats));
        code = code.subspan(size);
      }
      TW_REQUIRE(code.empty(), "codes of gradients have ", code.size(), " bytes too many");
    } catch (const Error& error) {
      return comm::Failure{comm::FailureKind::kProtocol, from, error.what(), 0};
    }
    return {};
  }

  comm::Status all_reduce(comm::Communicator& communicator, std::span<float> values) override {
    const Bytes& mine = *carried(values);
    std::vector<int64_t> sizes(static_cast<size_t>(communicator.size()));
    sizes[static_cast<size_t>(communicator.rank())] = static_cast<int64_t>(mine.size());
    comm::Status status = communicator.all_gather(sizes.data(), sizes.size(), DType::kI64);
    if (!status) return status;
    const auto most = static_cast<int64_t>(most_carried_bytes(values));
    for (size_t rank = 0; rank < sizes.size(); ++rank) {
      if (sizes[rank] >= 0 && sizes[rank] <= most) continue;
      return comm::Failure{comm::FailureKind::kProtocol, static_cast<int>(rank),
                           "it announced a code of " + std::to_string(sizes[rank]) +
                               " bytes for gradients that take at most " + std::to_string(most),
                           0};
    }
    std::vector<uint8_t> all(mine.size());
    std::memcpy(all.data(), mine.data(), all.size());
    if (status = gather_parts(communicator, all, sizes, 1); !status) return status;
    std::fill(values.begin(), values.end(), 0.0F);
    std::span<const std::byte> rest = std::as_bytes(std::span<const uint8_t>(all));
    for (size_t rank = 0; rank < sizes.size() && status.ok(); ++rank) {
      const auto size = static_cast<size_t>(sizes[rank]);
      status = add_carried(static_cast<int>(rank), rest.subspan(0, size), values);
      rest = rest.subspan(size);
    }
    return status;
  }

  comm::Status reduce_scatter(comm::Communicator& communicator, std::span<float> values) override {
    return all_reduce(communicator, values);
  }
  comm::Status end(std::span<float> /*values*/) override { return {}; }
};

}  // namespace

std::unique_ptr<GradientExchange> GradientExchange::make_carried(std::unique_ptr<Compressor> compressor) {
  if (compressor == nullptr) return make(nullptr);
  return std::make_unique<CarriedExchange>(std::move(compressor));
}

}  // namespace thalweg::sync
