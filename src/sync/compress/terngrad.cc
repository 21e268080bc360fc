// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// TernGrad (Wen et al., 2017): an element becomes -s, 0 or s, s being the largest of all workers, so that its mean is
// what it was: two bits, and nothing is kept. Before that, elements beyond `clip` standard deviations are cut down to
// them: few large ones would make all others noise.
#include <algorithm>
#include <cmath>

#include "sync/compress/bits.h"
#include "sync/compress/register.h"

namespace thalweg::sync {
namespace {

constexpr unsigned kBits = 2;
/// Codes of an element.
constexpr uint32_t kZero = 0, kPlus = 1, kMinus = 2;

class TernGrad : public GatheredCompressor {
 public:
  explicit TernGrad(double clip) : clip_(clip) {}

  void use(const std::vector<GradientShape>& gradients) override {
    floats_.clear();
    for (const GradientShape& gradient : gradients) floats_.push_back(gradient.floats);
    limits_.assign(floats_.size(), 0.0F);
  }

  bool agrees() const override { return true; }

  /// The largest absolute value after clipping.
  float measure(size_t gradient, std::span<const float> values) override {
    double sum = 0, squares = 0;
    float largest = 0;
    for (const float value : values) {
      sum += value;
      squares += static_cast<double>(value) * value;
      largest = std::max(largest, std::abs(value));
    }
    const double count = static_cast<double>(std::max<size_t>(values.size(), 1)), mean = sum / count;
    const double deviation = std::sqrt(std::max(0.0, squares / count - mean * mean));
    const auto limit = static_cast<float>(clip_ * deviation);
    // Elements that are all alike have no deviation, and are as they are.
    limits_[gradient] = clip_ > 0 && limit > 0 ? std::min(limit, largest) : largest;
    return limits_[gradient];
  }

  void encode(size_t gradient, std::span<const float> values, float agreed, Bytes& code) override {
    put_number(code, agreed);
    CodeRandom random(step(), gradient);
    BitWriter bits(code);
    const float limit = limits_[gradient], scale = agreed > 0 ? 1.0F / agreed : 0.0F;
    for (const float value : values) {
      const bool is_sent = random.uniform() < std::min(std::abs(value), limit) * scale;
      const uint32_t sign = value < 0 ? kMinus : kPlus;
      bits.put(is_sent ? sign : kZero, kBits);
    }
  }

  size_t most_bytes(size_t gradient) const override { return sizeof(float) + (floats_[gradient] * kBits + 7) / 8; }

  void decode_add(size_t /*gradient*/, std::span<const std::byte> code, std::span<float> sum) const override {
    const auto scale = take_number<float>(code);
    const float values[] = {0.0F, scale, -scale};
    BitReader bits(code);
    for (float& element : sum) {
      const uint32_t which = bits.get(kBits);
      TW_REQUIRE(which < std::size(values), "the code of a gradient has a fourth kind of element");
      element += values[which];
    }
    bits.finish();
  }

 private:
  double clip_;
  std::vector<size_t> floats_;
  /// What elements are cut down to.
  std::vector<float> limits_;
};

const RegisterCompressor kTernGrad(
    {{"terngrad",
      "2 bits: each element becomes -s, 0 or s at random, with its value as the mean; nothing is left for later "
      "(TernGrad)",
      {{"clip", 2.5, 0, 1e6, false, "elements are cut down to so many standard deviations; 0: they are not"}}},
     [](const PartOptions& options) -> std::unique_ptr<Compressor> {
       return std::make_unique<TernGrad>(options.at("clip"));
     }});

}  // namespace

}  // namespace thalweg::sync
