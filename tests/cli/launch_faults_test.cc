// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The launcher and its workers are killed, stopped and told to end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <thread>

#include "cli/ended.h"
#include "cli/fake_digits.h"
#include "cli/program.h"
#include "support/bad_images.h"
#include "support/patience.h"
#include "support/temporary_directory.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class LaunchFaults : public ::testing::Test {
 protected:
  /// A shell script for every worker, which finds this folder in $F.
  std::unique_ptr<RunningProcess> launch(std::vector<std::string> options, const std::string& script) {
    options.insert(options.begin(), "launch");
    for (const std::string& word : {std::string("--"), std::string("sh"), std::string("-c"), script}) {
      options.push_back(word);
    }
    return std::make_unique<RunningProcess>(TW_PROGRAM, options,
                                            std::vector<std::string>{"F=" + folder_.path().string()});
  }

  /// A shell's words for training on what looks like digits, until it is told to stop or for so many epochs.
  std::string train(int64_t epochs = 1'000'000) {
    write_fake_digits(folder_);
    return std::string(TW_PROGRAM " train " TW_SOURCE_DIR "/examples/digits.toml --set data.path=$F") +
           " --set output.model=$F/model.onnx --set train.epochs=" + std::to_string(epochs);
  }

  /// What a worker has written to the file $F/<index>.pid.
  pid_t pid_of(int index) const {
    const std::string path = folder_ / (std::to_string(index) + ".pid");
    EXPECT_TRUE(eventually([&] { return read_bytes(path).find('\n') != std::string::npos; }));
    return std::stoi(read_bytes(path));
  }
  /// Until a trainer that train() has started has been through an epoch of the data.
  static void wait_for_training(const RunningProcess& launcher) {
    ASSERT_TRUE(eventually([&] { return launcher.out().find("/1000000  loss ") != std::string::npos; }))
        << launcher.out() << launcher.error();
  }
  static void wait_for_text(const RunningProcess& process, const std::string& text) {
    ASSERT_TRUE(eventually([&] { return process.error().find(text) != std::string::npos; })) << process.error();
  }
  bool has_model() const { return std::filesystem::exists(folder_ / "model.onnx"); }

  const TemporaryDirectory folder_;
};

constexpr const char* kSleeper = "sleep 1000 & echo $! > $F/$THALWEG_WORKER.pid; wait";
const std::string kRemember = "echo $$ > $F/$THALWEG_WORKER.pid; exec ";

TEST_F(LaunchFaults, ASignalReachesWhatWorkersHaveStarted) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    const auto launcher = launch({"-n", "2"}, kSleeper);
    const pid_t first = pid_of(0), second = pid_of(1);
    launcher->signal(number);
    EXPECT_EQ(launcher->wait().exit_code, 1);
    EXPECT_TRUE(have_ended({first, second})) << ::strsignal(number);
    for (const char* name : {"0.pid", "1.pid"}) std::filesystem::remove(folder_ / name);
  }
}

TEST_F(LaunchFaults, WhoIsDeafToTheFirstSignalEndsAtTheSecond) {
  // The launcher gives workers 10 s after the first signal.
  EXPECT_TRUE(in_some_attempt([&] {
    std::filesystem::remove(folder_ / "0.pid");
    const auto launcher = launch({"-n", "1"}, std::string("trap '' TERM; ") + kSleeper + "; wait; wait");
    const pid_t pid = pid_of(0);
    const auto begin = std::chrono::steady_clock::now();
    launcher->signal(SIGTERM);
    wait_for_text(*launcher, "ending the workers");
    launcher->signal(SIGTERM);
    EXPECT_EQ(launcher->wait().exit_code, 1);
    const auto took = std::chrono::steady_clock::now() - begin;
    EXPECT_TRUE(have_ended({pid}));
    return took < std::chrono::seconds(8);  // patience: one of several attempts
  }));
}

TEST_F(LaunchFaults, ALauncherThatIsKilledLeavesNobodyBehind) {
  const auto launcher = launch({"-n", "2"}, kSleeper);
  const pid_t first = pid_of(0), second = pid_of(1);
  launcher->signal(SIGKILL);
  EXPECT_TRUE(have_ended({first, second}));
}

TEST_F(LaunchFaults, WhatAWorkerLeavesEndsWithIt) {
  const auto launcher = launch({"-n", "1"}, "sleep 1000 & echo $! > $F/$THALWEG_WORKER.pid");
  EXPECT_EQ(launcher->wait().exit_code, 0);
  EXPECT_TRUE(have_ended({pid_of(0)}));
}

TEST_F(LaunchFaults, ATrainerThatIsKilledComesBackAndTheJobEndsWell) {
  const auto launcher = launch({"-n", "2"}, kRemember + train());
  wait_for_text(*launcher, "epoch 1 has 2 members");
  wait_for_training(*launcher);
  ::kill(pid_of(1), SIGKILL);
  wait_for_text(*launcher, "worker 1 was killed by signal 9 (Killed); starting it again");
  wait_for_text(*launcher, "epoch 3 has 2 members");
  // One that stops has all others stop with it.
  ::kill(pid_of(0), SIGTERM);
  const ProcessResult run = launcher->wait();
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_THAT(run.out, HasSubstr("(stopped)"));
  EXPECT_TRUE(has_model());
  EXPECT_TRUE(have_ended({pid_of(0), pid_of(1)}));
}

TEST_F(LaunchFaults, AWorkerThatStaysStoppedDoesNotKeepTheLauncher) {
  const auto launcher = launch({"-n", "2"}, kRemember + train());
  wait_for_text(*launcher, "epoch 1 has 2 members");
  wait_for_training(*launcher);
  const pid_t stopped = pid_of(1);
  ::kill(stopped, SIGSTOP);
  wait_for_text(*launcher, "epoch 2 has 1 members");
  ::kill(pid_of(0), SIGTERM);
  const ProcessResult run = launcher->wait();
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_THAT(run.error, HasSubstr("worker 1 has not ended within 10 s after the group had finished: killing it"));
  EXPECT_TRUE(has_model());
  EXPECT_TRUE(have_ended({stopped}));
}

TEST_F(LaunchFaults, AMemberMayTakeItsTimeToEndUpToALimit) {
  const auto launcher = launch({"-n", "1", "--end-timeout", "1"}, train(1) + "; sleep 1000");
  const ProcessResult run = launcher->wait();
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.error, HasSubstr("worker 0 has not ended within 1 s after the group had finished: killing it "
                                   "(--end-timeout gives it longer)"));
}

/// Worker 0 trains by itself; this is what worker 1 does after that.
std::string when_all_is_done(const std::string& train, const std::string& then) {
  return "if [ $THALWEG_WORKER = 0 ]; then exec " + train +
         "; fi; while [ ! -e $F/model.onnx ]; do sleep 0.05; done; " + then;
}

TEST_F(LaunchFaults, AWorkerThatFindsTheJobDoneHasNotFailed) {
  const std::string job = train(1);
  const ProcessResult run = launch({"-n", "2", "--settle", "0"}, when_all_is_done(job, "exec " + job))->wait();
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_THAT(run.out, HasSubstr("[1] thalweg: train: the job has ended without this worker"));
  EXPECT_THAT(run.error, Not(HasSubstr("worker 1 ended")));
}

TEST_F(LaunchFaults, WhatBefallsOthersThanMembersAfterTheEndIsNoFailure) {
  const ProcessResult run = launch({"-n", "2", "--settle", "0"}, when_all_is_done(train(1), "exit 3"))->wait();
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_THAT(run.error, HasSubstr("worker 1 ended with status 3; the group has finished without it"));
}

TEST_F(LaunchFaults, AMemberThatFailsAfterTheEndHasFailed) {
  const ProcessResult run = launch({"-n", "1"}, train(1) + "; exit 3")->wait();
  EXPECT_EQ(run.exit_code, 1) << run.error;
  EXPECT_THAT(run.error, HasSubstr("worker 0 ended with status 3\n"));
}

TEST_F(LaunchFaults, AnErrorThatEveryAttemptMeetsIsNotRepeatedForEver) {
  for (const char* name : {"a", "b"}) {
    write_odd_images(folder_.path() / "images" / name);
  }
  write_bytes(folder_ / "job.toml", "[data]\nkind = \"images\"\nimage_size = 32\npath = \"" + folder_ / "images" +
                                        "\"\n[model]\nname = \"mobilenet_v2\"\nclasses = 2\nimage_size = 32\n"
                                        "[train]\nepochs = 2\nbatch_size = 16\n");
  const ProcessResult run = launch({"-n", "2"}, TW_PROGRAM " train $F/job.toml")->wait();
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.error, HasSubstr("3 attempts in a row have failed: nobody is started again\n"));
  // The last that is read is what was wrong.
  const size_t last = run.error.find("another would end in the same way. worker ");
  ASSERT_NE(last, std::string::npos) << run.error;
  EXPECT_THAT(run.error.substr(last), HasSubstr(folder_ / "images/")) << run.error;
  EXPECT_EQ(run.error.find("thalweg: launch: ", last), std::string::npos) << run.error;
}

TEST_F(LaunchFaults, TheGroupGoesOnWhileNobodyReadsWhatWorkersPrint) {
  // Far more than pipes hold, before the group can form.
  write_bytes(folder_ / "worker", "if [ $THALWEG_WORKER = 1 ]; then yes talk | head -c 2000000 & sleep 1; fi; " +
                                      train(2) + " > /dev/null 2>&1");
  RunningProcess launcher("/bin/sh",
                          {"-c", TW_PROGRAM " launch -n 2 -- sh $F/worker | "
                                            "(until [ -e $F/read ]; do sleep 0.05; done; cat > /dev/null)"},
                          {"F=" + folder_.path().string()});
  EXPECT_TRUE(eventually([&] { return has_model(); }));
  write_bytes(folder_ / "read", "");
  EXPECT_EQ(launcher.wait().exit_code, 0) << launcher.error();
  EXPECT_THAT(launcher.error(), HasSubstr("epoch 1 has "));
}

TEST_F(LaunchFaults, WorkersThatFailTogetherAndTakeTheirTimeToEndMakeOneAttempt) {
  // Of each worker the first life fails when its trainer is killed, and ends when it may.
  const auto launcher =
      launch({"-n", "3"}, "if [ ! -e $F/$THALWEG_WORKER.pid ]; then " + train() +
                              " & echo $! > $F/$THALWEG_WORKER.pid; wait; "
                              "until [ -e $F/$THALWEG_WORKER.end ]; do sleep 0.02; done; exit 1; fi; exec " +
                              train());
  wait_for_training(*launcher);
  // So that those who start again do not come further at once, which would make up for any failure.
  std::this_thread::sleep_for(std::chrono::seconds(2));
  // At the same time: nobody is to go on without those who are killed first.
  for (const int number : {SIGSTOP, SIGKILL}) {
    for (int i = 0; i < 3; ++i) ::kill(pid_of(i), number);
  }
  for (int i = 0; i < 3; ++i) {
    const std::string name = "worker " + std::to_string(i);
    write_bytes(folder_ / (std::to_string(i) + ".end"), "");
    wait_for_text(*launcher, name + " ended with status 1; starting it again");
    // Until the group has formed with it.
    ASSERT_TRUE(eventually([&] {
      const std::string text = launcher->error();
      return text.find(" members", text.find(name + " has come", text.find(name + " ended"))) != std::string::npos;
    })) << launcher->error();
  }
  launcher->signal(SIGTERM);
  EXPECT_EQ(launcher->wait().exit_code, 1);
}

TEST_F(LaunchFaults, TheLastLineIsAboutTheLastStep) {
  const ProcessResult run = launch({"-n", "2"}, train(30))->wait();
  EXPECT_EQ(run.exit_code, 0) << run.error;
  // 640 samples make 10 steps.
  const size_t last = run.error.rfind("2 workers  step ");
  ASSERT_NE(last, std::string::npos) << run.error;
  EXPECT_THAT(run.error.substr(last), ::testing::StartsWith("2 workers  step 300  "));
}

TEST_F(LaunchFaults, AGroupThatDoesNotFormInTimeSaysWhoIsMissing) {
  const ProcessResult run = launch({"-n", "2", "--min-workers", "2", "--form-timeout", "3"},
                                   "if [ $THALWEG_WORKER = 0 ]; then exec " + train(1) + "; fi; sleep 5")
                                ->wait();
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out, HasSubstr("the group did not form: "));
  EXPECT_THAT(run.out, ::testing::ContainsRegex("missing: .*worker 1"));
}

}  // namespace
}  // namespace thalweg::testing
