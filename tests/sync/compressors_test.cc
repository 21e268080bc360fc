// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// What every compressor promises, by a table that a new one joins by its row.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "support/error_text.h"
#include "sync/compress/bits.h"
#include "sync/compress/compressor.h"
#include "sync/compress/largest.h"
#include "thalweg/sync.h"

namespace thalweg::testing {
namespace {

using sync::Bytes;
using sync::CodeStep;
using sync::Compressor;
using sync::GatheredCompressor;
using sync::GradientShape;
using sync::SummedCompressor;
using ::testing::HasSubstr;

constexpr size_t kFloats = 30000;

struct Row {
  std::string name;
  sync::PartOptions options;
  /// On the wire, for each element, at most.
  double bits = 0;
  /// What is kept and what was sent are the gradients, to so much of their size; 0: to the bit. Negative: nothing is
  /// kept, and codes are right in the mean only.
  double conserved = 0;
  std::string label = name;
};

class Compressors : public ::testing::TestWithParam<Row> {
 protected:
  std::unique_ptr<Compressor> make() const {
    auto made = sync::make_compressor(GetParam().name, GetParam().options);
    made->use({shape()});
    return made;
  }
  /// A matrix, so that those that make use of it can.
  static GradientShape shape() { return {"weight", kFloats, Layout({DType::kF32, {200, 150}})}; }
  static std::vector<float> gradient(uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal(0.0F, 0.1F);
    std::vector<float> values(kFloats);
    for (float& value : values) value = normal(random);
    return values;
  }
};

std::vector<Row> rows() {
  return {{"bf16", {}, 16, 1e-6},
          {"f16", {}, 16, 1e-6},
          {"terngrad", {{"clip", 0}}, 2.1, -1},
          {"qsgd", {}, 4.1, -1},
          {"signsgd", {}, 1.1, 1e-6},
          {"topk", {{"share", 0.01}}, 0.65, 0},
          {"dgc", {{"share", 0.01}, {"warm_up", 0}}, 0.65, 0},
          {"sbc", {{"share", 0.01}}, 0.1, 1e-6},
          {"powersgd", {{"rank", 2}}, 0.75, 1e-6}};
}
INSTANTIATE_TEST_SUITE_P(All, Compressors, ::testing::ValuesIn(rows()),
                         [](const auto& test) { return test.param.label; });

/// What one worker's code of a gradient stands for, and how many bytes it has.
struct Sent {
  std::vector<float> values = std::vector<float>(kFloats);
  size_t bytes = 0;
};

Sent send(Compressor& compressor, std::span<const float> gradient, const CodeStep& step) {
  Sent sent;
  compressor.begin_step(step);
  if (auto* gathered = dynamic_cast<GatheredCompressor*>(&compressor)) {
    Bytes code;
    gathered->encode(0, gradient, gathered->agrees() ? gathered->measure(0, gradient) : 0.0F, code);
    EXPECT_LE(code.size(), gathered->most_bytes(0));
    gathered->decode_add(0, code, sent.values);
    sent.bytes = code.size();
    return sent;
  }
  auto& summed = dynamic_cast<SummedCompressor&>(compressor);
  Bytes code;
  for (int round = 0; round < summed.rounds(); ++round) {
    Bytes next(summed.code_elements(0, round) * size_of(summed.dtype()));
    round == 0 ? summed.encode(0, gradient, next.data()) : summed.encode_next(0, round, code.data(), next.data());
    code = std::move(next);
    sent.bytes += code.size();
  }
  summed.decode(0, code.data(), sent.values);
  return sent;
}

/// What the compressor keeps of the gradient.
std::vector<float> kept(const Compressor& compressor, const std::string& name = "residual/weight") {
  std::vector<float> result(kFloats);
  for (const NamedTensor& entry : compressor.state()) {
    if (entry.name != name) continue;
    std::copy_n(entry.tensor.data<float>(), kFloats, result.begin());
  }
  return result;
}

TEST_P(Compressors, CodesAreAsShortAsTheyShould) {
  const auto compressor = make();
  for (int64_t step = 0; step < 3; ++step) {
    const Sent sent = send(*compressor, gradient(static_cast<uint64_t>(step)), {step, 0, 1});
    compressor->commit();
    EXPECT_LE(8.0 * static_cast<double>(sent.bytes) / kFloats, GetParam().bits);
    EXPECT_GT(sent.bytes, 0U);
  }
}

TEST_P(Compressors, NothingIsLostOfWhatIsNotSent) {
  if (GetParam().conserved < 0) GTEST_SKIP() << "keeps nothing: right in the mean";
  const auto compressor = make();
  const bool momentum = compressor->applies_momentum();
  std::vector<double> all(kFloats), sent(kFloats);
  std::vector<float> last(kFloats), velocity(kFloats);
  for (int64_t step = 0; step < 20; ++step) {
    const std::vector<float> fresh = gradient(static_cast<uint64_t>(step));
    const Sent now = send(*compressor, fresh, {step, 0, 1});
    compressor->commit();
    for (size_t i = 0; i < kFloats; ++i) {
      // With momentum of 0.9 it is that of gradients which is kept or sent, and starts afresh where it was sent.
      velocity[i] = momentum ? 0.9F * velocity[i] + fresh[i] : fresh[i];
      all[i] += velocity[i];
      if (momentum && now.values[i] != 0) velocity[i] = 0;
      sent[i] += now.values[i];
    }
    last = now.values;
  }
  const std::vector<float> left = kept(*compressor);
  double worst = 0;
  for (size_t i = 0; i < kFloats; ++i) worst = std::max(worst, std::abs(sent[i] + left[i] - all[i]));
  // Sums of 20 floats are themselves rounded.
  EXPECT_LE(worst, 20 * 1e-6 + GetParam().conserved);
}

TEST_P(Compressors, WhatIsKeptOfAStepIsExactlyWhatWasNotSent) {
  if (GetParam().conserved < 0) GTEST_SKIP() << "keeps nothing: right in the mean";
  const auto compressor = make();
  const std::vector<float> fresh = gradient(5);
  const Sent now = send(*compressor, fresh, {0, 0, 1});
  compressor->commit();
  const std::vector<float> left = kept(*compressor);
  for (size_t i = 0; i < kFloats; ++i) {
    const float expected = fresh[i] - now.values[i];
    if (GetParam().conserved == 0) {
      ASSERT_EQ(left[i], expected) << i;
    } else {
      ASSERT_NEAR(left[i], expected, GetParam().conserved) << i;
    }
  }
}

TEST_P(Compressors, AreRightInTheMeanIfTheyKeepNothing) {
  if (GetParam().conserved >= 0) GTEST_SKIP() << "makes up for it later";
  const auto compressor = make();
  const std::vector<float> fresh = gradient(3);
  constexpr int kDraws = 400;
  constexpr double kStep = 0.6;
  std::vector<double> sums(kFloats);
  for (int draw = 0; draw < kDraws; ++draw) {
    const Sent now = send(*compressor, fresh, {draw, 0, 1});
    for (size_t i = 0; i < kFloats; ++i) sums[i] += now.values[i];
  }
  // By element, the mean is off by a few standard errors at most; over all elements there is no bias left.
  double bias = 0, spread = 0, size = 0;
  for (size_t i = 0; i < kFloats; ++i) {
    // An element is drawn as 0 or as one step of at most kStep, or between two such steps.
    const double mean = sums[i] / kDraws, error = std::sqrt(std::abs(fresh[i]) * kStep / kDraws);
    ASSERT_LT(std::abs(mean - fresh[i]), 7 * error + 2 * kStep / kDraws) << i;
    const double towards = fresh[i] < 0 ? -1 : 1;
    bias += towards * (mean - fresh[i]);
    spread += error * error;
    size += std::abs(fresh[i]);
  }
  EXPECT_LT(std::abs(bias), 5 * std::sqrt(spread));
  EXPECT_GT(size, 100 * std::abs(bias)) << "the test cannot see a bias of a hundredth";
}

TEST_P(Compressors, AStepThatIsRepeatedIsAsIfItHadBeenMadeOnce) {
  const auto once = make(), twice = make();
  for (int64_t step = 0; step < 4; ++step) {
    const CodeStep at{step, 1, 2};
    const std::vector<float> fresh = gradient(static_cast<uint64_t>(step));
    if (step == 2) {
      // Other gradients: the samples are dealt out anew when a worker is lost.
      send(*twice, gradient(99), at);
      twice->roll_back();
      // What is guessed of the next step, as by PowerSGD, starts afresh at all workers when the group has changed.
      for (Compressor* compressor : {once.get(), twice.get()}) compressor->use({shape()});
    }
    const Sent expected = send(*once, fresh, at);
    once->commit();
    const Sent got = send(*twice, fresh, at);
    twice->commit();
    ASSERT_EQ(got.values, expected.values) << step;
    ASSERT_EQ(kept(*twice), kept(*once)) << step;
  }
}

TEST_P(Compressors, WhatTheyKeepGoesIntoACheckpointAndBack) {
  const auto first = make(), second = make(), restored = make();
  for (int64_t step = 0; step < 3; ++step) {
    send(*first, gradient(static_cast<uint64_t>(step)), {step, 0, 2});
    send(*second, gradient(static_cast<uint64_t>(step) + 50), {step, 1, 2});
    first->commit();
    second->commit();
  }
  const std::vector<float> one = kept(*first), other = kept(*second);
  restored->add_state(first->state());
  EXPECT_EQ(kept(*restored), one);
  // One worker takes over what two have kept.
  restored->add_state(second->state());
  const std::vector<float> both = kept(*restored);
  for (size_t i = 0; i < kFloats; ++i) ASSERT_EQ(both[i], one[i] + other[i]);
  restored->clear_state();
  EXPECT_EQ(kept(*restored), std::vector<float>(kFloats));
  if (first->state().empty()) return;
  EXPECT_THAT(error_text([&] {
                restored->add_state({{"residual/weight", Tensor::zeros(DType::kF32, {7})}});
              }),
              HasSubstr("residual/weight"));
}

TEST_P(Compressors, WhatIsNotFiniteDoesNotStay) {
  const auto compressor = make();
  std::vector<float> bad = gradient(1);
  bad[3] = std::nanf("");
  bad[4] = std::numeric_limits<float>::infinity();
  send(*compressor, bad, {0, 0, 1});
  compressor->commit();
  for (const float value : kept(*compressor)) ASSERT_TRUE(std::isfinite(value));
  const Sent next = send(*compressor, gradient(2), {1, 0, 1});
  for (const float value : next.values) ASSERT_TRUE(std::isfinite(value));
}

/// Each way of decoding ends with an Error or with a sum, and never reads or writes elsewhere, which the sanitizers
/// see.
TEST_P(Compressors, BytesThatAreNoCodeAreRefused) {
  const auto compressor = make();
  const auto* gathered = dynamic_cast<const GatheredCompressor*>(compressor.get());
  if (gathered == nullptr) GTEST_SKIP() << "codes have one size, which the exchange itself keeps to";
  Bytes code;
  auto& encoder = dynamic_cast<GatheredCompressor&>(*compressor);
  const std::vector<float> fresh = gradient(1);
  encoder.begin_step({0, 0, 1});
  encoder.encode(0, fresh, encoder.agrees() ? encoder.measure(0, fresh) : 0.0F, code);
  std::vector<float> sum(kFloats);
  for (const size_t length : {size_t{0}, size_t{1}, size_t{5}, code.size() / 2, code.size() - 1}) {
    EXPECT_THROW(gathered->decode_add(0, std::span(code).first(length), sum), Error) << length;
  }
  Bytes longer = code;
  longer.resize(code.size() + 9);
  EXPECT_THROW(gathered->decode_add(0, longer, sum), Error);
  std::mt19937 random(7);
  for (int attempt = 0; attempt < 300; ++attempt) {
    Bytes spoilt = code;
    for (int i = 0; i < 8; ++i)
      spoilt[random() % (attempt % 2 == 0 ? 16 : spoilt.size())] = static_cast<std::byte>(random());
    try {
      gathered->decode_add(0, spoilt, sum);
    } catch (const Error&) {
    }
  }
}

TEST(CompressorTable, EveryCompressorIsTested) {
  // With "none" gradients stay as they are.
  std::vector<std::string> tested = {"none"};
  for (const Row& row : rows()) tested.push_back(row.name);
  for (const sync::CompressorInfo& info : sync::compressors()) {
    EXPECT_THAT(tested, ::testing::Contains(info.name));
    EXPECT_FALSE(info.description.empty());
  }
}

TEST(TernGrad, ElementsAreCutDownBeforeTheirSizeIsAgreedOn) {
  const auto made = sync::make_compressor("terngrad", {});
  auto& terngrad = dynamic_cast<GatheredCompressor&>(*made);
  std::vector<float> values(1000, 0.1F);
  for (size_t i = 0; i < values.size(); i += 2) values[i] = -0.1F;
  values[7] = 50;
  made->use({{"weight", values.size()}});
  const float measured = terngrad.measure(0, values);
  EXPECT_LT(measured, 5);
  EXPECT_GT(measured, 2.5 * 0.1);
  // Another worker has larger ones: all elements here become smaller parts of that.
  Bytes code;
  terngrad.begin_step({0, 0, 1});
  terngrad.encode(0, values, 10 * measured, code);
  std::vector<float> sum(values.size());
  terngrad.decode_add(0, code, sum);
  for (const float value : sum) EXPECT_TRUE(value == 0 || std::abs(value) == 10 * measured);
}

TEST(TopK, SendsTheLargest) {
  const auto made = sync::make_compressor("topk", {{"share", 0.003}});
  auto& topk = dynamic_cast<GatheredCompressor&>(*made);
  std::vector<float> values(1000, 0.01F), sum(1000);
  values[17] = 3;
  values[500] = -4;
  values[999] = 2;
  made->use({{"weight", values.size()}});
  Bytes code;
  topk.begin_step({0, 0, 1});
  topk.encode(0, values, 0, code);
  topk.decode_add(0, code, sum);
  for (size_t i = 0; i < sum.size(); ++i) EXPECT_EQ(sum[i], i == 17 || i == 500 || i == 999 ? values[i] : 0) << i;
}

TEST(TopK, WarmsUpByFactorsOfFour) {
  const auto made = sync::make_compressor("dgc", {{"warm_up", 40}});
  auto& dgc = dynamic_cast<GatheredCompressor&>(*made);
  std::mt19937 random(1);
  std::vector<float> values(16384);
  made->use({{"weight", values.size()}});
  const auto sent_at = [&](int64_t step) {
    for (float& value : values) value = static_cast<float>(random()) * 1e-9F;
    Bytes code;
    dgc.begin_step({step, 0, 1});
    dgc.encode(0, values, 0, code);
    made->commit();
    return (code.size() - 4) / 8;
  };
  EXPECT_EQ(sent_at(0), 4096U);
  EXPECT_EQ(sent_at(10), 1024U);
  EXPECT_EQ(sent_at(20), 256U);
  EXPECT_EQ(sent_at(30), 64U);
  EXPECT_EQ(sent_at(40), 16U);
}

TEST(Largest, OfManyElementsASampleSays) {
  std::mt19937 random(3);
  std::vector<float> values(1000000);
  for (float& value : values) value = static_cast<float>(static_cast<int32_t>(random()));
  const std::vector<uint32_t> places = sync::places_of_largest(values, 1000, sync::Largest::kByMagnitude);
  EXPECT_LE(places.size(), 1000U);
  EXPECT_GT(places.size(), 250U);
  EXPECT_TRUE(std::is_sorted(places.begin(), places.end()));
  std::vector<float> sizes;
  for (const float value : values) sizes.push_back(std::abs(value));
  std::nth_element(sizes.begin(), sizes.begin() + 4000, sizes.end(), std::greater<>());
  for (const uint32_t place : places) EXPECT_GE(std::abs(values[place]), sizes[4000]);
}

TEST(Bits, AreReadAsTheyWereWritten) {
  Bytes bytes;
  {
    sync::BitWriter bits(bytes);
    for (uint32_t i = 0; i < 100; ++i) bits.put(i % 8, 3);
    bits.put(0xFFFFFFFFU, 32);
    bits.put(1, 1);
  }
  EXPECT_EQ(bytes.size(), (300U + 33 + 7) / 8);
  sync::BitReader bits(bytes);
  for (uint32_t i = 0; i < 100; ++i) ASSERT_EQ(bits.get(3), i % 8);
  EXPECT_EQ(bits.get(32), 0xFFFFFFFFU);
  EXPECT_EQ(bits.get(1), 1U);
  EXPECT_NO_THROW(bits.finish());
  EXPECT_THROW(bits.get(32), Error);
}

TEST(CompressorOptions, WhatMakesNoSenseIsRefused) {
  EXPECT_THAT(error_text([] { sync::make_compressor("zip", {}); }), HasSubstr("there are: none, bf16"));
  EXPECT_THAT(error_text([] { sync::make_compressor("topk", {{"share", 0}}); }), HasSubstr("option share"));
  EXPECT_THAT(error_text([] { sync::make_compressor("powersgd", {{"rank", 1.5}}); }), HasSubstr("a whole number"));
}

}  // namespace
}  // namespace thalweg::testing
