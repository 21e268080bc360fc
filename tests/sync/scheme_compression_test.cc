// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Every compressor with every way in which gradients travel.
#include "sync/scheme_table.h"

namespace thalweg::testing {
namespace {

std::vector<std::string> compressions() {
  std::vector<std::string> names;
  for (const sync::CompressorInfo& info : sync::compressors()) {
    if (info.name != "none") names.push_back(info.name);
  }
  return names;
}

class EveryCompression : public ::testing::TestWithParam<std::string> {
 protected:
  /// With options that let something come through in few steps.
  static sync::SchemeOptions scheme(const std::string& name) {
    sync::SchemeOptions options{.name = name, .compression = GetParam()};
    for (const sync::CompressorInfo& info : sync::compressors()) {
      if (info.name != GetParam()) continue;
      for (const sync::OptionInfo& option : info.options) {
        if (option.name == "share") options.options["share"] = 0.2;
        if (option.name == "warm_up") options.options["warm_up"] = 0;
        if (option.name == "compressor_momentum") options.options["compressor_momentum"] = option.usual / 2;
      }
    }
    return options;
  }
  static SmallJob job() {
    SmallJob made;
    made.momentum = 0;
    return made;
  }
  static void expect_fit(const std::string& name, const std::vector<std::vector<NamedTensor>>& results) {
    for (const auto& weights : results) EXPECT_EQ(difference(weights, results[0]), 0) << name << ": workers differ";
    EXPECT_LT(loss_of(results[0]), 0.7 * untrained_loss()) << name;
  }
};
INSTANTIATE_TEST_SUITE_P(All, EveryCompression, ::testing::ValuesIn(compressions()),
                         [](const auto& test) { return test.param; });

TEST_P(EveryCompression, GoesWithEveryPresetThatSendsGradients) {
  for (const sync::Preset& preset : sync::presets()) {
    if (preset.compresses) expect_fit(preset.name, train_group(3, job(), scheme(preset.name)));
  }
}

TEST_P(EveryCompression, OthersGoOnWhenAWorkerIsLost) {
  for (const char* name : {"allreduce", "sharded", "firecaffe", "petuum"}) {
    const comm::Rendezvous rendezvous(quiet_rendezvous(1, 3));
    const auto train = [&](std::shared_ptr<Callback> callback) {
      return std::async(std::launch::async,
                        [&, callback] { return train_member(job(), scheme(name), rendezvous.address(), callback); });
    };
    auto first = train(nullptr), second = train(nullptr), lost = train(std::make_shared<LeaveAt>(17));
    EXPECT_THROW(lost.get(), Error);
    expect_fit(name, {first.get(), second.get()});
  }
}

/// What a checkpoint has of what compressors keep, in all.
double kept_in(const std::string& checkpoint) {
  const std::string path = checkpoint + "/scheme.safetensors";
  if (!std::filesystem::exists(path)) return 0;
  const SafetensorsFile file(path);
  double sum = 0;
  for (const std::string& name : file.names()) {
    if (name.find("residual") == std::string::npos) continue;
    for (const float value : floats(file.load(name))) sum += std::abs(value);
  }
  return sum;
}

TEST_P(EveryCompression, ARunThatGoesOnFromACheckpointIsTheOneThatWasNotInterrupted) {
  for (const char* name : {"allreduce", "sharded", "ssp"}) {
    const TemporaryDirectory folder;
    SmallJob part = job();
    part.options.end = optim::max_iteration(33);
    part.options.checkpoints = {.directory = folder.path().string(), .when = optim::several_iterations(33)};
    train_group(2, part, scheme(name));
    const std::string checkpoint = (folder.path() / "step-00000033").string();
    const auto resumed = train_group(2, job(), scheme(name), checkpoint);
    expect_fit(name, resumed);
    // PowerSGD guesses anew where the largest directions are.
    if (GetParam() == "powersgd") continue;
    EXPECT_LT(difference(resumed[0], train_group(2, job(), scheme(name))[0]), 1e-6) << name;
    // Without what is kept it would be another run.
    const bool keeps = GetParam() != "terngrad" && GetParam() != "qsgd";
    EXPECT_EQ(kept_in(checkpoint) > 1e-3, keeps) << name;
  }
}

}  // namespace
}  // namespace thalweg::testing
