// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/codec.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/half_loops.h"

namespace thalweg::sync {
namespace {

/// Half-width floating-point numbers.
template <typename Half>
class HalfCodec : public Codec {
 public:
  DType dtype() const override { return dtype_of<Half>; }
  void encode(std::span<const float> values, void* encoded) const override {
    narrow(values.data(), static_cast<Half*>(encoded), values.size());
  }
  void decode(const void* encoded, std::span<float> values) const override {
    widen(static_cast<const Half*>(encoded), values.data(), values.size());
  }
};

/// Elements that stay in the first-level cache while they are encoded and what is lost is found.
constexpr size_t kBlock = 2048;

}  // namespace

std::unique_ptr<Codec> Codec::make(DType dtype) {
  if (dtype == DType::kBF16) return std::make_unique<HalfCodec<BF16>>();
  if (dtype == DType::kF16) return std::make_unique<HalfCodec<F16>>();
  return nullptr;
}

void encode_with_feedback(const Codec& codec, std::span<const float> fresh, std::span<const float> kept,
                          std::span<float> next, void* encoded) {
  const size_t element = size_of(codec.dtype());
  float decoded[kBlock];
  for (size_t begin = 0; begin < fresh.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, fresh.size() - begin);
    const float *now = fresh.data() + begin, *before = kept.data() + begin;
    float* lost = next.data() + begin;
#pragma omp simd
    for (size_t i = 0; i < count; ++i) lost[i] = before[i] + now[i];
    std::byte* place = static_cast<std::byte*>(encoded) + begin * element;
    codec.encode({lost, count}, place);
    codec.decode(place, {decoded, count});
    // What is not finite would stay so for ever; the loss tells of it.
#pragma omp simd
    for (size_t i = 0; i < count; ++i) {
      const float difference = lost[i] - decoded[i];
      lost[i] = std::abs(difference) <= std::numeric_limits<float>::max() ? difference : 0.0F;
    }
  }
}

}  // namespace thalweg::sync
