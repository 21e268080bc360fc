// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// What follows from measurements of workers and their links.
#include "sync/choose/choice.h"

#include <gmock/gmock.h>

#include "support/error_text.h"

namespace thalweg::testing {
namespace {

using sync::Measurements;
using ::testing::HasSubstr;

constexpr double kMegabyte = 1e6;

/// Workers that take so long for each of ten steps, and a model of so many bytes that can be made a hundred times
/// shorter.
Measurements measured(const std::vector<double>& seconds, double bytes, double bytes_per_second) {
  Measurements result;
  for (const double own : seconds) result.step_seconds.emplace_back(10, own);
  result.link = {1e-4, 1 / bytes_per_second};
  result.gradient_bytes = result.weight_bytes = bytes;
  result.forms = {{"bf16", {}, bytes / 2, 1e-4}, {"powersgd", {{"rank", 4}}, bytes / 100, 2e-3}};
  return result;
}

sync::SchemeOptions chosen(const Measurements& measurements) { return sync::choose_scheme(measurements).scheme; }

TEST(ChoiceOfAScheme, AFastLinkAndEvenWorkersWantNothingButSums) {
  const sync::SchemeOptions scheme = chosen(measured({0.1, 0.1, 0.1, 0.1}, 10 * kMegabyte, 5000 * kMegabyte));
  EXPECT_EQ(scheme.name, "allreduce");
  EXPECT_EQ(scheme.compression, "none");
}

TEST(ChoiceOfAScheme, ALinkThatIsALittleSlowWantsHalfOfTheDigits) {
  const sync::SchemeOptions scheme = chosen(measured({0.1, 0.1}, 10 * kMegabyte, 100 * kMegabyte));
  EXPECT_EQ(scheme.name, "allreduce");
  EXPECT_EQ(scheme.compression, "bf16");
}

TEST(ChoiceOfAScheme, ASlowLinkWantsShortGradients) {
  const sync::SchemeOptions scheme = chosen(measured({1.0, 1.0, 1.0, 1.0}, 240 * kMegabyte, 10 * kMegabyte));
  EXPECT_EQ(scheme.name, "allreduce");
  EXPECT_EQ(scheme.compression, "powersgd");
}

TEST(ChoiceOfAScheme, GradientsThatDoNotGetShorterWantAPeriod) {
  Measurements slow = measured({0.1, 0.1}, 10 * kMegabyte, 1 * kMegabyte);
  for (sync::FormCost& form : slow.forms) form.bytes = slow.gradient_bytes;
  const sync::SchemeOptions scheme = chosen(slow);
  EXPECT_EQ(scheme.name, "localsgd");
  // sqrt(10 s * 0.98 / (0.02 * 0.1 s))
  EXPECT_EQ(scheme.options.at("period"), 50);
  slow.link.seconds_per_byte /= 20;
  EXPECT_EQ(chosen(slow).options.at("period"), 16);
}

TEST(ChoiceOfAScheme, OneWorkerThatIsAlwaysSlowIsDoneWithout) {
  EXPECT_EQ(chosen(measured({0.1, 0.4, 0.1, 0.1}, kMegabyte, 5000 * kMegabyte)).name, "tensorflow");
}

TEST(ChoiceOfAScheme, OfTwoTheSlowOneIsNotWaitedFor) {
  EXPECT_EQ(chosen(measured({0.1, 1.0}, kMegabyte, 5000 * kMegabyte)).name, "easgd");
}

TEST(ChoiceOfAScheme, WorkersThatAreSlowInTurnsMayBeLate) {
  Measurements uneven = measured({0.1, 0.1}, kMegabyte, 5000 * kMegabyte);
  for (size_t step = 0; step < 10; ++step) uneven.step_seconds[step % 2][step] = 0.3;
  EXPECT_EQ(chosen(uneven).name, "petuum");
  // Servers update parts of parameters, which not every optimiser can.
  uneven.elementwise = false;
  EXPECT_NE(chosen(uneven).name, "petuum");
}

TEST(ChoiceOfAScheme, OneWorkerHasNobodyToTalkTo) {
  EXPECT_EQ(chosen({}).name, "allreduce");
  EXPECT_THAT(sync::choose_scheme({}).why, HasSubstr("one worker"));
}

TEST(ChoiceOfAScheme, SaysWhatWasMeasuredAndWhatFollows) {
  const std::string why = sync::choose_scheme(measured({1.0, 2.0}, 240 * kMegabyte, 10 * kMegabyte)).why;
  EXPECT_THAT(why, HasSubstr("a worker computes for 1 s a step, the slowest (rank 1) for 2 s"));
  EXPECT_THAT(why, HasSubstr("of gradients takes 24 s"));
  EXPECT_THAT(why, HasSubstr("allreduce with powersgd (rank 4) "));
  EXPECT_THAT(why, HasSubstr("localsgd with period "));
}

TEST(ChoiceOfAScheme, ComesBackFromItsText) {
  const sync::SchemeChoice choice = sync::choose_scheme(measured({1.0, 1.0}, 240 * kMegabyte, 10 * kMegabyte));
  const sync::SchemeChoice again = sync::choice_from(sync::to_text(choice));
  EXPECT_EQ(again.scheme.name, choice.scheme.name);
  EXPECT_EQ(again.scheme.compression, choice.scheme.compression);
  EXPECT_EQ(again.scheme.options, choice.scheme.options);
  EXPECT_EQ(again.why, choice.why);
}

TEST(ChoiceOfAScheme, TextThatIsNoChoiceIsRefused) {
  const auto refusal = [](const std::string& text) { return error_text([&] { sync::choice_from(text); }); };
  EXPECT_THAT(refusal("{\"name\":"), HasSubstr("cannot be read"));
  EXPECT_THAT(refusal("[1]"), HasSubstr("cannot be read"));
  const std::string rest = R"(,"compression":"none","options":{},"why":""})";
  EXPECT_THAT(refusal(R"({"name":"magic")" + rest), HasSubstr("there is no training scheme 'magic'"));
  EXPECT_THAT(refusal(R"({"name":"auto")" + rest), HasSubstr("the scheme auto cannot be chosen by itself"));
}

}  // namespace
}  // namespace thalweg::testing
