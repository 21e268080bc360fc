// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// A process that trains is really killed, and another one goes on.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "support/child_process.h"
#include "support/patience.h"
#include "support/temporary_directory.h"
#include "thalweg/train.h"
#include "train/checkpoint.h"
#include "train/small_models.h"

namespace thalweg::testing {
namespace {

constexpr const char* kFolderVariable = "THALWEG_TEST_TRAIN_FOLDER";
constexpr const char* kPauseVariable = "THALWEG_TEST_TRAIN_PAUSE";

/// Slows the run down so that there is a middle to be killed in, and its end never comes first, however busy the
/// machine.
struct Pause : Callback {
  std::chrono::milliseconds duration{0};
  void on_step(const TrainState& state) override {
    std::this_thread::sleep_for(state.progress.iteration < 16 ? duration : 1000 * duration);
  }
};

/// What the processes run: trains, from a checkpoint if there is one, and saves the weights at the end.
TEST(KilledRun, DISABLED_Child) {
  const char* folder = std::getenv(kFolderVariable);
  ASSERT_NE(folder, nullptr) << "run by KilledRun.ResumesToTheSameBytes";
  const std::filesystem::path home(folder);
  Model model(conv_graph());
  TrainOptions options;
  options.epochs = 6;
  options.batch_size = 6;
  options.threads = 2;
  options.learning_rate = 0.01;
  options.progress = ShowProgress::kNone;
  options.checkpoints.directory = (home / "checkpoints").string();
  options.checkpoints.when = optim::several_iterations(5);
  auto pause = std::make_shared<Pause>();
  pause->duration = std::chrono::milliseconds(std::atoi(std::getenv(kPauseVariable)));
  options.callbacks = {pause};
  Trainer trainer(model, squared_error(), optim::adam(), options);
  if (Trainer::can_resume(options.checkpoints.directory)) {
    trainer.resume(options.checkpoints.directory);
    write_bytes(home / "resumed-from", std::to_string(trainer.state().progress.iteration));
  }
  trainer.fit(conv_data(20));
  model.save_weights((home / "final.safetensors").string());
}

ChildProcess start(const std::filesystem::path& folder, int pause_ms) {
  return ChildProcess("KilledRun.DISABLED_Child",
                      {{kFolderVariable, folder.string()}, {kPauseVariable, std::to_string(pause_ms)}});
}

TEST(KilledRun, ResumesToTheSameBytes) {
  const TemporaryDirectory whole, killed;
  ChildProcess uninterrupted = start(whole.path(), 0);
  ASSERT_TRUE(uninterrupted.started());
  ASSERT_EQ(uninterrupted.wait(), 0);

  // 24 steps; killed after the second checkpoint, at a moment of the scheduler's choice.
  ChildProcess victim = start(killed.path(), 60);
  ASSERT_TRUE(victim.started());
  const auto second = killed.path() / "checkpoints" / "step-00000010";
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(second); }));
  victim.kill();
  ASSERT_FALSE(std::filesystem::exists(killed.path() / "final.safetensors")) << "it had ended before it was killed";

  ChildProcess second_run = start(killed.path(), 0);
  ASSERT_EQ(second_run.wait(), 0);
  EXPECT_GE(std::stoi(read_bytes(killed.path() / "resumed-from")), 10);
  const std::string expected = read_bytes(whole.path() / "final.safetensors");
  ASSERT_FALSE(expected.empty());
  EXPECT_TRUE(read_bytes(killed.path() / "final.safetensors") == expected) << "the weights differ";
}

}  // namespace
}  // namespace thalweg::testing
