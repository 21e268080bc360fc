// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Deep gradient compression (Lin et al., 2018): of what has gathered, the largest share of the elements travels, as
// places and values; the rest stays. With `momentum` m each gradient g first becomes u = m u + g, and u is what gathers
// and, where it is sent, starts afresh: so an element that is sent late moves as it would have moved step by step. The
// share begins at a quarter and goes down to its end by factors of four over `warm_up` steps.
#include <algorithm>
#include <cmath>

#include "sync/compress/bits.h"
#include "sync/compress/feedback.h"
#include "sync/compress/largest.h"
#include "sync/compress/register.h"

namespace thalweg::sync {
namespace {

struct TopKOptions {
  double share = 0.001;
  double momentum = 0;
  int64_t warm_up = 0;
};

constexpr double kFirstShare = 0.25;
/// Shares that a warm-up goes through before the last one.
constexpr int64_t kStages = 4;

class TopK : public WithFeedback<GatheredCompressor> {
 public:
  explicit TopK(const TopKOptions& options) : options_(options) {}

  void use(const std::vector<GradientShape>& gradients) override {
    WithFeedback::use(gradients);
    if (applies_momentum()) momenta_.use(gradients);
  }
  void commit() override {
    WithFeedback::commit();
    momenta_.commit();
  }
  void roll_back() override {
    WithFeedback::roll_back();
    momenta_.roll_back();
  }
  std::vector<NamedTensor> state() const override {
    std::vector<NamedTensor> result = WithFeedback::state();
    momenta_.save(result);
    return result;
  }
  void add_state(const std::vector<NamedTensor>& state) override {
    WithFeedback::add_state(state);
    momenta_.add(state);
  }
  void clear_state() override {
    WithFeedback::clear_state();
    momenta_.clear();
  }
  bool applies_momentum() const override { return options_.momentum > 0; }

  void encode(size_t gradient, std::span<const float> values, float /*agreed*/, Bytes& code) override {
    const std::span<float> gathered = residual().next(gradient);
    std::span<float> momenta;
    if (applies_momentum()) {
      momenta = momenta_.next(gradient);
      const std::span<const float> before = momenta_.kept(gradient);
      const auto factor = static_cast<float>(options_.momentum);
      for (size_t i = 0; i < values.size(); ++i) momenta[i] = factor * before[i] + values[i];
      drop_non_finite(momenta);
    }
    add_kept(applies_momentum() ? std::span<const float>(momenta) : values, residual().kept(gradient), gathered);
    drop_non_finite(gathered);
    const std::vector<uint32_t> places = places_of_largest(gathered, count_of(gradient), Largest::kByMagnitude);
    put_number(code, static_cast<uint32_t>(places.size()));
    for (const uint32_t place : places) put_number(code, place);
    for (const uint32_t place : places) {
      put_number(code, gathered[place]);
      gathered[place] = 0;
      if (applies_momentum()) momenta[place] = 0;
    }
  }

  size_t most_bytes(size_t gradient) const override { return sizeof(uint32_t) * (1 + 2 * floats(gradient)); }

  void decode_add(size_t /*gradient*/, std::span<const std::byte> code, std::span<float> sum) const override {
    const auto count = take_number<uint32_t>(code);
    TW_REQUIRE(count <= sum.size() && code.size() == count * (sizeof(uint32_t) + sizeof(float)),
               "the code of a gradient of ", sum.size(), " elements announces ", count, " in ", code.size(), " bytes");
    std::span<const std::byte> places = code.subspan(0, count * sizeof(uint32_t));
    code = code.subspan(places.size());
    for (uint32_t i = 0; i < count; ++i) {
      const auto place = take_number<uint32_t>(places);
      TW_REQUIRE(place < sum.size(), "the code of a gradient of ", sum.size(), " elements has one at ", place);
      sum[place] += take_number<float>(code);
    }
  }

 private:
  /// Of a gradient, in this step.
  size_t count_of(size_t gradient) const {
    double share = options_.share;
    if (step().number < options_.warm_up) {
      const int64_t stage = step().number * kStages / options_.warm_up;
      share = std::max(share, std::pow(kFirstShare, static_cast<double>(stage + 1)));
    }
    const auto count = static_cast<size_t>(std::llround(share * static_cast<double>(floats(gradient))));
    return std::max<size_t>(count, 1);
  }

  TopKOptions options_;
  Feedback momenta_{"momentum"};
};

std::vector<OptionInfo> options_with(double momentum, double warm_up) {
  return {{"share", 0.001, 1e-7, 1, false, "of the elements that travel"},
          {"compressor_momentum", momentum, 0, 0.999999, false,
           "momentum of gradients before they gather; the optimiser has none then"},
          {"warm_up", warm_up, 0, 1e12, true, "steps over which the share falls from a quarter"},
          copy_every(1000)};
}

std::unique_ptr<Compressor> make_topk(const PartOptions& options) {
  return std::make_unique<TopK>(
      TopKOptions{options.at("share"), options.at("compressor_momentum"), static_cast<int64_t>(options.at("warm_up"))});
}

const RegisterCompressor kTopK(
    {{"topk", "the largest elements, as places and values of 32 bits each", options_with(0, 0)}, make_topk});
const RegisterCompressor kDgc(
    {{"dgc", "topk with momentum before compression, and warm-up (deep gradient compression); for sgd without momentum",
      options_with(0.9, 400)},
     make_topk});

}  // namespace

}  // namespace thalweg::sync
