// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// signSGD with error feedback (Karimireddy et al., 2019): the signs of a gradient and of what was kept, times their
// mean absolute value. One bit for each element.
#include <cmath>

#include "sync/compress/bits.h"
#include "sync/compress/feedback.h"
#include "sync/compress/register.h"

namespace thalweg::sync {
namespace {

class SignSgd : public WithFeedback<GatheredCompressor> {
 public:
  void encode(size_t gradient, std::span<const float> values, float /*agreed*/, Bytes& code) override {
    const std::span<float> next = residual().next(gradient);
    add_kept(values, residual().kept(gradient), next);
    double total = 0;
    for (const float value : next) total += std::abs(value);
    const float mean = next.empty() ? 0.0F : static_cast<float>(total / static_cast<double>(next.size()));
    put_number(code, mean);
    BitWriter bits(code);
    for (float& value : next) {
      const bool negative = value < 0;
      bits.put(negative ? 1 : 0, 1);
      value -= negative ? -mean : mean;
    }
    drop_non_finite(next);
  }

  size_t most_bytes(size_t gradient) const override { return sizeof(float) + (floats(gradient) + 7) / 8; }

  void decode_add(size_t /*gradient*/, std::span<const std::byte> code, std::span<float> sum) const override {
    const auto mean = take_number<float>(code);
    BitReader bits(code);
    for (float& element : sum) element += bits.get(1) == 1 ? -mean : mean;
    bits.finish();
  }
};

const RegisterCompressor kSignSgd(
    {{"signsgd", "1 bit: signs, and the mean absolute value (signSGD with error feedback)", {copy_every(128)}},
     [](const PartOptions&) -> std::unique_ptr<Compressor> { return std::make_unique<SignSgd>(); }});

}  // namespace

}  // namespace thalweg::sync
