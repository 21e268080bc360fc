// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Sparse binary compression (Sattler et al., 2019): of the largest and of the smallest share of what has gathered, the
// set whose mean is further from 0 travels: that one mean, and the places, as differences in a Golomb code that fits
// their number. The rest stays. Steps without an exchange in between are the business of the scheme.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "sync/compress/bits.h"
#include "sync/compress/feedback.h"
#include "sync/compress/largest.h"
#include "sync/compress/register.h"

namespace thalweg::sync {
namespace {

/// Bits of the lower part of a difference, for places that are taken with probability `share`: the paper's choice.
unsigned golomb_bits(double share) {
  const double ratio = std::log(std::numbers::phi - 1) / std::log1p(-std::min(share, 0.5));
  return ratio <= 1 ? 0 : 1 + static_cast<unsigned>(std::floor(std::log2(ratio)));
}

class SparseBinary : public WithFeedback<GatheredCompressor> {
 public:
  explicit SparseBinary(double share) : share_(share), low_bits_(golomb_bits(share)) {}

  void encode(size_t gradient, std::span<const float> values, float /*agreed*/, Bytes& code) override {
    const std::span<float> gathered = residual().next(gradient);
    add_kept(values, residual().kept(gradient), gathered);
    drop_non_finite(gathered);
    const auto wanted = static_cast<size_t>(std::llround(share_ * static_cast<double>(gathered.size())));
    const size_t count = std::max<size_t>(wanted, 1);
    const std::vector<uint32_t> high = places_of_largest(gathered, count, Largest::kByValue);
    const std::vector<uint32_t> low = places_of_largest(gathered, count, Largest::kByNegatedValue);
    const float high_mean = mean_of(gathered, high), low_mean = mean_of(gathered, low);
    const bool takes_high = high_mean >= -low_mean;
    const std::vector<uint32_t>& places = takes_high ? high : low;
    const float mean = takes_high ? high_mean : low_mean;
    put_number(code, mean);
    put_number(code, static_cast<uint32_t>(places.size()));
    write_places(places, code);
    for (const uint32_t place : places) gathered[place] -= mean;
  }

  /// A difference of d takes d >> low_bits ones, and all of them together are no more than there are elements.
  size_t most_bytes(size_t gradient) const override {
    return sizeof(float) + sizeof(uint32_t) + (floats(gradient) * (2 + low_bits_)) / 8 + 1;
  }

  void decode_add(size_t /*gradient*/, std::span<const std::byte> code, std::span<float> sum) const override {
    const auto mean = take_number<float>(code);
    const auto count = take_number<uint32_t>(code);
    TW_REQUIRE(count <= sum.size(), "the code of a gradient of ", sum.size(), " elements announces ", count);
    BitReader bits(code);
    size_t next = 0;
    for (uint32_t i = 0; i < count; ++i) {
      size_t distance = 0;
      while (bits.get(1) == 1) ++distance;
      distance = (distance << low_bits_) + (low_bits_ > 0 ? bits.get(low_bits_) : 0);
      TW_REQUIRE(distance < sum.size() - next, "the code of a gradient of ", sum.size(), " elements has one at ",
                 next + distance);
      next += distance;
      sum[next++] += mean;
      TW_REQUIRE(next < sum.size() || i + 1 == count, "the code of a gradient goes on after its last element");
    }
    bits.finish();
  }

 private:
  static float mean_of(std::span<const float> values, const std::vector<uint32_t>& places) {
    double total = 0;
    for (const uint32_t place : places) total += values[place];
    return places.empty() ? 0.0F : static_cast<float>(total / static_cast<double>(places.size()));
  }

  void write_places(const std::vector<uint32_t>& places, Bytes& code) const {
    BitWriter bits(code);
    uint32_t next = 0;
    for (const uint32_t place : places) {
      const uint32_t distance = place - next;
      for (uint32_t ones = distance >> low_bits_; ones > 0; --ones) bits.put(1, 1);
      bits.put(0, 1);
      if (low_bits_ > 0) bits.put(distance & ((1U << low_bits_) - 1), low_bits_);
      next = place + 1;
    }
  }

  double share_;
  unsigned low_bits_;
};

const RegisterCompressor kSbc(
    {{"sbc",
      "the places of the largest elements of one sign, Golomb-coded, and their mean (sparse binary compression)",
      {{"share", 0.001, 1e-7, 0.5, false, "of the elements that travel"}, copy_every(1000)}},
     [](const PartOptions& options) -> std::unique_ptr<Compressor> {
       return std::make_unique<SparseBinary>(options.at("share"));
     }});

}  // namespace

}  // namespace thalweg::sync
