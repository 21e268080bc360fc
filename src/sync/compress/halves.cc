// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// bf16 and f16: half the bytes, with error feedback. Sums of codes are rounded too, which no worker makes up for.
#include "sync/codec.h"
#include "sync/compress/feedback.h"
#include "sync/compress/register.h"

namespace thalweg::sync {
namespace {

class Halves : public WithFeedback<SummedCompressor> {
 public:
  explicit Halves(DType dtype) : codec_(Codec::make(dtype)) {}

  DType dtype() const override { return codec_->dtype(); }
  size_t code_elements(size_t gradient, int /*round*/) const override { return floats(gradient); }
  void encode(size_t gradient, std::span<const float> values, void* code) override {
    encode_with_feedback(*codec_, values, residual().kept(gradient), residual().next(gradient), code);
  }
  void decode(size_t /*gradient*/, const void* sum, std::span<float> values) override { codec_->decode(sum, values); }

 private:
  std::unique_ptr<Codec> codec_;
};

template <DType kType>
std::unique_ptr<Compressor> make_halves(const PartOptions& /*options*/) {
  return std::make_unique<Halves>(kType);
}

const RegisterCompressor kBf16({{"bf16", "half the bytes, the range of f32", {}}, make_halves<DType::kBF16>});
const RegisterCompressor kF16({{"f16", "half the bytes, more digits, numbers up to 65504", {}},
                               make_halves<DType::kF16>});

}  // namespace

}  // namespace thalweg::sync
