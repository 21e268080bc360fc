// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <random>

#include "optim/groups.h"
#include "thalweg/optim.h"

namespace thalweg::optim {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;
using ::testing::Pointwise;

template <typename Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::vector<float> random_floats(size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> result(count);
  for (float& value : result) value = normal(generator);
  return result;
}

TEST(Optimizer, PaddingStaysZero) {
  for (const std::string& name : optimizer_names()) {
    Optimizer optimizer = make_optimizer(name);
    optimizer.set_groups({{.pattern = "*", .weight_decay = 0.1, .l1 = 0.01, .l2 = 0.02}});
    std::vector<float> value = random_floats(100, 1);
    std::fill(value.begin() + 60, value.end(), 0.0f);
    std::vector<float> gradient = value;
    optimizer.add_parameter("w", 100);
    for (int step = 0; step < 3; ++step) {
      optimizer.begin_step(0.1);
      optimizer.update(0, value, gradient);
    }
    for (size_t i = 0; i < 60; ++i) ASSERT_NE(value[i], 0.0f) << name;
    for (size_t i = 60; i < 100; ++i) ASSERT_EQ(value[i], 0.0f) << name;
  }
}

TEST(Optimizer, ScaleThenClipThenRegularise) {
  Optimizer optimizer = sgd({.weight_decay = 0.25});
  optimizer.set_groups({{.pattern = "w", .l1 = 0.5, .l2 = 0.125}});
  optimizer.add_parameter("w", 3);
  optimizer.set_gradient_scale(0.5);
  optimizer.set_clip_value(1.0);
  std::vector<float> value = {8.0f, -8.0f, 0.0f};
  optimizer.begin_step(1.0);
  optimizer.update(0, value, std::vector<float>{1.0f, 10.0f, -10.0f});
  // 8 - (0.5 + 3 + 0.5), -8 - (1 - 3 - 0.5), 0 - (-1)
  EXPECT_THAT(value, ElementsAre(4.0f, -5.5f, 1.0f));
}

TEST(Optimizer, ClippingKeepsNan) {
  Optimizer optimizer = sgd();
  optimizer.add_parameter("w", 1);
  optimizer.set_clip_value(1.0);
  std::vector<float> value = {0.0f};
  optimizer.update(0, value, std::vector<float>{std::nanf("")});
  EXPECT_TRUE(std::isnan(value[0]));
}

TEST(Optimizer, GroupsApplyInOrder) {
  Optimizer optimizer = sgd({.weight_decay = 0.5});
  optimizer.set_groups({{.pattern = "*", .learning_rate_factor = 0.1},
                        {.pattern = "*.bias", .weight_decay = 0.0},
                        {.pattern = "layer?.bias", .learning_rate_factor = 2.0},
                        {.pattern = "frozen.*", .frozen = true}});
  optimizer.add_parameter("layer1.weight", 1);
  optimizer.add_parameter("layer1.bias", 1);
  optimizer.add_parameter("frozen.weight", 1);
  optimizer.check_groups();
  EXPECT_EQ(optimizer.settings(0).learning_rate_factor, 0.1);
  EXPECT_EQ(optimizer.settings(0).weight_decay, 0.5);
  EXPECT_EQ(optimizer.settings(1).learning_rate_factor, 2.0);
  EXPECT_EQ(optimizer.settings(1).weight_decay, 0.0);
  EXPECT_TRUE(optimizer.settings(2).frozen);
  std::vector<float> value = {1.0f};
  optimizer.begin_step(0.25);
  optimizer.update(1, value, std::vector<float>{1.0f});
  EXPECT_FLOAT_EQ(value[0], 0.5f);
}

TEST(Optimizer, FrozenParametersRestUntilTheyThaw) {
  Optimizer optimizer = adam();
  optimizer.set_groups({{.pattern = "w", .frozen = true}});
  optimizer.add_parameter("w", 2);
  EXPECT_TRUE(optimizer.slots(0).empty());
  std::vector<float> value = {1.0f, 2.0f};
  const std::vector<float> gradient = {1.0f, 1.0f};
  optimizer.begin_step(0.1);
  optimizer.update(0, value, gradient);
  EXPECT_THAT(value, ElementsAre(1.0f, 2.0f));
  EXPECT_EQ(optimizer.updates(0), 0);
  optimizer.set_frozen(0, false);
  EXPECT_EQ(optimizer.slots(0).size(), 2U);
  optimizer.update(0, value, gradient);
  EXPECT_NEAR(value[0], 0.9f, 1e-6);
}

TEST(Optimizer, RestoredSlotsContinueTheRunBitByBit) {
  const size_t size = 50;
  for (const std::string& name : optimizer_names()) {
    const std::map<std::string, double> momentum = {{"momentum", 0.9}};
    const auto make = [&] { return make_optimizer(name, name == "sgd" ? momentum : std::map<std::string, double>{}); };
    Optimizer whole = make();
    Optimizer resumed = make();
    whole.add_parameter("w", size);
    resumed.add_parameter("w", size);
    std::vector<float> value = random_floats(size, 3);
    for (unsigned step = 0; step < 3; ++step) whole.update(0, value, random_floats(size, step));
    std::vector<float> restored_value = value;
    const std::vector<Slot> from = whole.slots(0);
    const std::vector<Slot> to = resumed.slots(0);
    ASSERT_FALSE(from.empty()) << name;
    for (size_t s = 0; s < from.size(); ++s) {
      EXPECT_EQ(from[s].name, to[s].name);
      std::copy(from[s].values.begin(), from[s].values.end(), to[s].values.begin());
    }
    resumed.set_updates(0, whole.updates(0));
    whole.update(0, value, random_floats(size, 9));
    resumed.update(0, restored_value, random_floats(size, 9));
    EXPECT_EQ(value, restored_value) << name;
  }
}

TEST(Optimizer, WritesTheBf16CopyInTheSamePass) {
  Optimizer optimizer = adam();
  const size_t size = 40000;
  optimizer.add_parameter("w", size);
  std::vector<float> value = random_floats(size, 5);
  std::vector<BF16> copy(size);
  optimizer.update(0, value, random_floats(size, 6), copy);
  for (size_t i = 0; i < size; ++i) ASSERT_EQ(copy[i].bits, BF16(value[i]).bits) << i;
}

TEST(Optimizer, SameBitsWithAnyNumberOfThreads) {
  const size_t size = 100003;
  const int threads_before = omp_get_max_threads();
  for (const std::string& name : optimizer_names()) {
    std::vector<std::vector<float>> results;
    for (const int threads : {1, 3}) {
      omp_set_num_threads(threads);
      Optimizer optimizer = make_optimizer(name);
      optimizer.add_parameter("w", size);
      std::vector<float> value = random_floats(size, 1);
      for (unsigned step = 0; step < 2; ++step) {
        optimizer.update(0, value, random_floats(size, 10 + step));
      }
      results.push_back(value);
    }
    EXPECT_EQ(results[0], results[1]) << name;
  }
  omp_set_num_threads(threads_before);
}

TEST(Optimizer, NormSquaredDoesNotDependOnThreads) {
  const std::vector<float> values = random_floats(123457, 2);
  double exact = 0.0;
  for (float value : values) exact += static_cast<double>(value) * value;
  const int threads_before = omp_get_max_threads();
  omp_set_num_threads(1);
  const double one = norm_squared(values);
  omp_set_num_threads(4);
  EXPECT_EQ(norm_squared(values), one);
  omp_set_num_threads(threads_before);
  EXPECT_NEAR(one, exact, 1e-9 * exact);
  EXPECT_EQ(norm_squared({}), 0.0);
}

TEST(Optimizer, NormClipScaleNeverEnlarges) {
  EXPECT_EQ(norm_clip_scale(0.25, 1.0), 1.0);
  EXPECT_NEAR(norm_clip_scale(16.0, 1.0), 0.25, 1e-6);
  EXPECT_THAT(error_of([] { norm_clip_scale(1.0, 0.0); }), HasSubstr("norm 0"));
}

TEST(Optimizer, LayerAdaptationCanBeSwitchedOff) {
  Optimizer optimizer = lars({.momentum = 0.0, .trust = 0.001});
  optimizer.set_groups({{.pattern = "*.bias", .layer_adaptation = false}});
  optimizer.add_parameter("x.bias", 1);
  std::vector<float> value = {1.0f};
  optimizer.begin_step(0.5);
  optimizer.update(0, value, std::vector<float>{1.0f});
  EXPECT_FLOAT_EQ(value[0], 0.5f);
}

TEST(Optimizer, PartsComeToTheSameBitsAsTheWhole) {
  constexpr size_t kSize = 50'000, kCut = 20'001;
  for (const std::string& name : optimizer_names()) {
    Optimizer whole = make_optimizer(name), parts = make_optimizer(name);
    if (!whole.elementwise()) continue;
    for (Optimizer* optimizer : {&whole, &parts}) optimizer->add_parameter("w", kSize);
    std::vector<float> expected = random_floats(kSize, 1), got = expected;
    for (unsigned step = 0; step < 3; ++step) {
      const std::vector<float> gradient = random_floats(kSize, 2 + step);
      whole.begin_step(0.01);
      whole.set_gradient_scale(0.5);
      whole.update(0, expected, gradient);
      parts.set_updates(0, parts.updates(0) + 1);
      const std::span<float> values(got);
      const std::span<const float> all(gradient);
      parts.update_part(0, 0, values.first(kCut), all.first(kCut), {0.01, 0.5});
      parts.update_part(0, kCut, values.subspan(kCut), all.subspan(kCut), {0.01, 0.5});
    }
    EXPECT_EQ(got, expected) << name;
  }
}

TEST(Optimizer, PartsThatAreForgottenStartAfresh) {
  constexpr size_t kSize = 10'000, kBegin = 17, kEnd = 9'001;
  Optimizer optimizer = sgd({.momentum = 0.9});
  optimizer.add_parameter("w", kSize);
  std::vector<float> values(kSize), gradient(kSize, 1.0f);
  optimizer.update(0, values, gradient);
  optimizer.forget_part(0, kBegin, kEnd);
  const std::span<float> velocity = optimizer.slots(0)[0].values;
  for (size_t i = 0; i < kSize; ++i) EXPECT_EQ(velocity[i], i >= kBegin && i < kEnd ? 0.0f : 1.0f) << i;
}

TEST(Optimizer, EmptyParameter) {
  for (const std::string& name : optimizer_names()) {
    Optimizer optimizer = make_optimizer(name);
    optimizer.add_parameter("none", 0);
    optimizer.update(0, {}, {});
  }
}

TEST(OptimizerErrors, NameWhatIsWrong) {
  EXPECT_THAT(error_of([] { make_optimizer("adaam"); }), AllOf(HasSubstr("\"adaam\""), HasSubstr("adamax")));
  EXPECT_THAT(error_of([] {
                make_optimizer("adam", {{"momentum", 1.0}});
              }),
              AllOf(HasSubstr("adam has no option \"momentum\""), HasSubstr("beta1")));
  EXPECT_THAT(error_of([] { make_optimizer("sgd", {{"nesterov", 0.5}}); }), HasSubstr("0 or 1"));
  EXPECT_THAT(error_of([] { adam({.beta2 = 1.0}); }), HasSubstr("beta2 is 1"));
  EXPECT_THAT(error_of([] { adam({.epsilon = 0.0}); }), HasSubstr("epsilon is 0"));
  EXPECT_THAT(error_of([] { sgd({.nesterov = true}); }), HasSubstr("nesterov"));
  EXPECT_THAT(error_of([] { adam().begin_step(std::nan("")); }), HasSubstr("learning rate is nan"));
  EXPECT_THAT(error_of([] { adam().set_clip_value(-1.0); }), HasSubstr("clipped"));
}

TEST(OptimizerErrors, NameTheParameter) {
  Optimizer optimizer = sgd();
  optimizer.add_parameter("conv1.weight", 2);
  std::vector<float> three(3), two(2);
  EXPECT_THAT(error_of([&] { optimizer.update(0, three, three); }),
              AllOf(HasSubstr("conv1.weight"), HasSubstr("2 elements"), HasSubstr("3")));
  EXPECT_THAT(error_of([&] { optimizer.update(0, two, three); }), HasSubstr("conv1.weight"));
  EXPECT_THAT(error_of([&] { optimizer.update(1, two, two); }), HasSubstr("no parameter 1"));
  std::vector<BF16> copy(1);
  EXPECT_THAT(error_of([&] { optimizer.update(0, two, two, copy); }), HasSubstr("conv1.weight"));
  EXPECT_THAT(error_of([&] { optimizer.set_updates(0, -1); }), HasSubstr("conv1.weight"));
}

TEST(OptimizerErrors, Groups) {
  Optimizer optimizer = sgd();
  EXPECT_THAT(error_of([&] { optimizer.set_groups({{.pattern = "fc.*", .l1 = -1.0}}); }),
              AllOf(HasSubstr("fc.*"), HasSubstr("l1 is -1")));
  optimizer.set_groups({{.pattern = "fc.*", .frozen = true}});
  optimizer.add_parameter("conv.weight", 1);
  EXPECT_THAT(error_of([&] { optimizer.check_groups(); }),
              AllOf(HasSubstr("\"fc.*\" matches none"), HasSubstr("conv.weight")));
  EXPECT_THAT(error_of([&] { optimizer.set_groups({}); }), HasSubstr("before the first parameter"));
}

TEST(Patterns, StarAndQuestionMark) {
  EXPECT_TRUE(matches_pattern("*", ""));
  EXPECT_TRUE(matches_pattern("a*c*e", "abcde"));
  EXPECT_TRUE(matches_pattern("a*bc", "abcbc"));
  EXPECT_TRUE(matches_pattern("layer?.*", "layer1.weight"));
  EXPECT_FALSE(matches_pattern("layer?.*", "layer12.weight"));
  EXPECT_FALSE(matches_pattern("a*", "ba"));
  EXPECT_FALSE(matches_pattern("", "a"));
  EXPECT_FALSE(matches_pattern(std::string(50, '*') + "b", std::string(5000, 'a')));
}

}  // namespace
}  // namespace thalweg::optim
