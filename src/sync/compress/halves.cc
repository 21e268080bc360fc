// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// bf16 and f16: half the bytes, with error feedback. Sums of codes are rounded too, which no worker makes up for.
#include "sync/codec.h"
#include "sync/compress/feedback.h"

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

}  // namespace

std::unique_ptr<Compressor> make_bf16(const PartOptions& /*options*/) { return std::make_unique<Halves>(DType::kBF16); }
std::unique_ptr<Compressor> make_f16(const PartOptions& /*options*/) { return std::make_unique<Halves>(DType::kF16); }

}  // namespace thalweg::sync
