// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Every preset, by the table of scheme_table.h: whether it does what its paper says, and goes on without a worker.
#include <gmock/gmock.h>

#include "support/error_text.h"
#include "sync/scheme_table.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(Presets, EveryPreset, ::testing::ValuesIn(scheme_rows()), name_of);

TEST_P(EveryPreset, DoesWhatItsPaperSays) { row().is_faithful(2); }

TEST_P(EveryPreset, GoesOnWithoutAWorkerThatIsLost) { lose_one(3, 17); }

TEST(SchemeTable, EveryPresetHasARow) {
  std::vector<std::string> tested;
  for (const SchemeRow& row : scheme_rows()) tested.push_back(row.scheme.name);
  for (const sync::Preset& preset : sync::presets()) {
    EXPECT_EQ(std::count(tested.begin(), tested.end(), preset.name), 1) << preset.name;
    const auto has_its_name = [&](const sync::Preset& other) { return other.name == preset.name; };
    EXPECT_EQ(std::count_if(sync::presets().begin(), sync::presets().end(), has_its_name), 1) << preset.name;
    EXPECT_FALSE(preset.description.empty() || preset.promise.empty() || preset.when.empty()) << preset.name;
  }
}

std::string refusal(const sync::SchemeOptions& options) {
  return error_text([&] { sync::make_scheme(options, nullptr); });
}

TEST(SchemeTable, WhatDoesNotGoTogetherIsRefusedWithWhatWould) {
  EXPECT_THAT(refusal({.name = "allreduce", .options = {{"staleness", 1}}}),
              HasSubstr("option staleness means nothing to the scheme allreduce; it is one of: ssp, petuum"));
  EXPECT_THAT(refusal({.name = "sparknet", .compression = "topk"}),
              HasSubstr("compression topk does not go with the scheme sparknet, which sends weights"));
  EXPECT_THAT(refusal({.name = "petuum", .compression = "topk", .options = {{"copy_every", 10}}}),
              HasSubstr("option copy_every needs workers that see at every step what all others send"));
  EXPECT_THAT(refusal({.name = "firecaffe", .compression = "signsgd", .options = {{"copy_every", 10}}}),
              HasSubstr("take one of the schemes: allreduce, sharded, "));
  EXPECT_THAT(
      refusal({.name = "allreduce", .options = {{"share", 0.1}}}),
      HasSubstr("option share means nothing to the compression none; it is one of the compressions: dgc, sbc, topk"));
  EXPECT_THAT(refusal({.name = "allreduce", .options = {{"perriod", 3}}}), HasSubstr("there are: bucket_bytes"));
  EXPECT_THAT(refusal({.name = "allreduce", .compression = "zip"}), HasSubstr("there is no compression 'zip'"));
  EXPECT_THAT(refusal({.name = "diloco", .options = {{"period", 0}}}), HasSubstr("option period"));
}

TEST(SchemeTable, MomentumIsNotAppliedTwice) {
  const comm::Rendezvous rendezvous(quiet_rendezvous(1, 1));
  EXPECT_THAT(
      error_text([&] { train_member({}, {.name = "allreduce", .compression = "dgc"}, rendezvous.address(), nullptr); }),
      HasSubstr("use sgd without momentum, or compression topk"));
}

}  // namespace
}  // namespace thalweg::testing
