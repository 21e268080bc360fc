// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// QSGD (Alistarh et al., 2017): blocks of elements travel as their norm and, for each element, a sign and one of a few
// levels between 0 and that norm, drawn so that its mean is what it was. Nothing is kept. Levels take a fixed number of
// bits here, where the paper has a code of variable length.
#include <algorithm>
#include <bit>
#include <cmath>

#include "sync/compress/bits.h"
#include "sync/compress/register.h"

namespace thalweg::sync {
namespace {

class Qsgd : public GatheredCompressor {
 public:
  Qsgd(uint32_t levels, size_t block)
      : levels_(levels), block_(block), bits_(static_cast<unsigned>(std::bit_width(2 * levels))) {}

  void use(const std::vector<GradientShape>& gradients) override {
    floats_.clear();
    for (const GradientShape& gradient : gradients) floats_.push_back(gradient.floats);
  }

  void encode(size_t gradient, std::span<const float> values, float /*agreed*/, Bytes& code) override {
    CodeRandom random(step(), gradient);
    for (size_t begin = 0; begin < values.size(); begin += block_) {
      encode_block(values.subspan(begin, std::min(block_, values.size() - begin)), random, code);
    }
  }

  size_t most_bytes(size_t gradient) const override {
    const size_t blocks = (floats_[gradient] + block_ - 1) / block_;
    return blocks * (sizeof(float) + (block_ * bits_ + 7) / 8);
  }

  void decode_add(size_t /*gradient*/, std::span<const std::byte> code, std::span<float> sum) const override {
    for (size_t begin = 0; begin < sum.size(); begin += block_) {
      const std::span<float> block = sum.subspan(begin, std::min(block_, sum.size() - begin));
      const float unit = take_number<float>(code) / static_cast<float>(levels_);
      const size_t bytes = (block.size() * bits_ + 7) / 8;
      TW_REQUIRE(code.size() >= bytes, "the code of a gradient ends in a block of ", block.size(), " elements");
      BitReader bits(code.subspan(0, bytes));
      for (float& element : block) {
        const uint32_t level = bits.get(bits_);
        TW_REQUIRE(level <= 2 * levels_, "the code of a gradient has level ", level, " of ", 2 * levels_);
        element += unit * (static_cast<float>(level) - static_cast<float>(levels_));
      }
      code = code.subspan(bytes);
    }
    TW_REQUIRE(code.empty(), "the code of a gradient has ", code.size(), " bytes too many");
  }

 private:
  void encode_block(std::span<const float> values, CodeRandom& random, Bytes& code) const {
    double squares = 0;
    for (const float value : values) squares += static_cast<double>(value) * value;
    const auto norm = static_cast<float>(std::sqrt(squares));
    put_number(code, norm);
    const float scale = norm > 0 ? static_cast<float>(levels_) / norm : 0.0F;
    BitWriter bits(code);
    for (const float value : values) {
      const float exact = std::min(std::abs(value) * scale, static_cast<float>(levels_));
      // NaN becomes level 0 here; its norm, which is NaN too, reaches everybody.
      const float below = std::floor(exact);
      const auto level = static_cast<int32_t>(below >= 0 ? below : 0) + (random.uniform() < exact - below ? 1 : 0);
      bits.put(static_cast<uint32_t>(static_cast<int32_t>(levels_) + (value < 0 ? -level : level)), bits_);
    }
  }

  uint32_t levels_;
  size_t block_;
  /// Of an element.
  unsigned bits_;
  std::vector<size_t> floats_;
};

const RegisterCompressor kQsgd(
    {{"qsgd",
      "a sign and one of a few levels for each element, at random with its value as the mean; nothing is left for "
      "later (QSGD): 4 bits with 7 levels",
      {{"levels", 7, 1, 32767, true, "between 0 and the norm of a block"},
       {"block", 512, 1, 1 << 20, true, "elements that have one norm"}}},
     [](const PartOptions& options) -> std::unique_ptr<Compressor> {
       return std::make_unique<Qsgd>(static_cast<uint32_t>(options.at("levels")),
                                     static_cast<size_t>(options.at("block")));
     }});

}  // namespace

}  // namespace thalweg::sync
