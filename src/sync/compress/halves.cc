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

  void encode_alone(size_t gradient, std::span<const float> values, Bytes& code) override {
    const size_t at = code.size();
    code.resize(at + values.size() * bytes_per_element());
    encode(gradient, values, code.data() + at);
  }
  void decode_alone(size_t /*gradient*/, std::span<const std::byte> code, std::span<float> sum) const override {
    TW_REQUIRE(code.size() == sum.size() * bytes_per_element(), "the code of ", sum.size(), " elements has ",
               code.size(), " bytes");
    std::vector<float> values(sum.size());
    codec_->decode(code.data(), values);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
  }
  size_t most_bytes_alone(size_t gradient) const override { return floats(gradient) * bytes_per_element(); }
  size_t bytes_per_element() const override { return size_of(codec_->dtype()); }

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
