// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/photo_classes.h"
#include "cli/program.h"
#include "support/bad_images.h"
#include "support/mpirun.h"
#include "support/patience.h"
#include "support/source_dir.h"
#include "support/temporary_directory.h"
#include "thalweg/onnx.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;

std::string digits_folder() {
  const char* deps = std::getenv("THALWEG_DEPS");
  return deps != nullptr ? std::string(deps) + "/mnist" : "";
}

constexpr const char* kExample = TW_SOURCE_DIR "/examples/digits.toml";

/// The job of the example, on a part of the digits.
std::vector<std::string> small_job(std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"train", kExample,          "--set", "data.path=" + digits_folder(),
                                        "--set", "data.limit=6000", "--set", "train.epochs=2"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

class TrainOnDigits : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(digits_folder())) GTEST_SKIP() << "no digits: run scripts/setup-data";
  }
  const TemporaryDirectory folder_;
};

TEST_F(TrainOnDigits, TheExampleLearns) {
  const std::string model = (folder_.path() / "digits.onnx").string();
  const ProcessResult run = run_program(small_job({"--json", "--set", "output.model=" + model}));
  const nlohmann::json report = json_of(run);
  EXPECT_EQ(report["epochs"].size(), 2U);
  EXPECT_GT(report["epochs"][1]["validation_accuracy"].get<double>(), 0.9);
  EXPECT_TRUE(std::filesystem::exists(model));
}

TEST_F(TrainOnDigits, AGroupOfWorkersLearnsTheSame) {
  std::vector<std::string> arguments = {"launch", "-n", "2", "--", TW_PROGRAM};
  const std::vector<std::string> job = small_job({"--set", "scheme.name=sharded"});
  arguments.insert(arguments.end(), job.begin(), job.end());
  const ProcessResult run = run_program(arguments);
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_THAT(run.out, HasSubstr("188 steps"));
  EXPECT_THAT(run.out, HasSubstr("validation_accuracy 0.9"));
}

TEST_F(TrainOnDigits, AGroupThatChoosesItsSchemeSaysWhichAndWhy) {
  std::vector<std::string> arguments = {"launch", "-n", "2", "--", TW_PROGRAM};
  const std::vector<std::string> job = small_job({"--set", "scheme.name=auto", "--set", "scheme.steps=3", "--json"});
  arguments.insert(arguments.end(), job.begin(), job.end());
  const ProcessResult run = run_program(arguments);
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_THAT(run.out, HasSubstr("\"why\": \"a worker computes for "));
  EXPECT_THAT(run.out, HasSubstr("\"steps\": 188"));
}

TEST_F(TrainOnDigits, AnErrorOfAllWorkersEndsTheGroupForGood) {
  std::vector<std::string> arguments = {"launch", "-n", "2", "--", TW_PROGRAM};
  const std::vector<std::string> job = small_job({"--set", "train.learning_rate=1e30"});
  arguments.insert(arguments.end(), job.begin(), job.end());
  const ProcessResult run = run_program(arguments);
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out + run.error, HasSubstr("the loss is"));
}

#ifdef TW_MPIRUN
TEST_F(TrainOnDigits, ProcessesOfMpirunLearnTheSame) {
  for (const char* transport : {"auto", "mpi"}) {
    std::vector<std::string> command = {TW_PROGRAM};
    const std::vector<std::string> job = small_job({"--set", std::string("group.transport=") + transport});
    command.insert(command.end(), job.begin(), job.end());
    const ProcessResult run = mpirun(TW_MPIRUN, 4, command);
    EXPECT_EQ(run.exit_code, 0) << run.error;
    EXPECT_THAT(run.out, HasSubstr("188 steps")) << transport;
    EXPECT_THAT(run.out, HasSubstr("validation_accuracy 0.9")) << transport;
  }
}
#endif

TEST_F(TrainOnDigits, WorkersMayBeToldToUseTlsByTheLauncherOnly) {
  const std::vector<std::string> job = small_job({"--set", "data.limit=640", "--set", "group.tls=true"});
  for (const bool agrees : {true, false}) {
    std::vector<std::string> arguments = {"launch", "-n", "2", "--restarts", "0", "--", TW_PROGRAM};
    if (agrees) arguments.insert(arguments.begin() + 1, "--tls");
    arguments.insert(arguments.end(), job.begin(), job.end());
    const ProcessResult run = run_program(arguments);
    EXPECT_EQ(run.exit_code, agrees ? 0 : 1) << run.error;
    EXPECT_THAT(run.error + run.out, HasSubstr(agrees ? "worker 1 has come over TLS"
                                                      : "the group does not use TLS, which this member insists on"));
  }
}

TEST_F(TrainOnDigits, TheFileSaysHowWorkersTalk) {
  std::vector<std::string> arguments = {"launch", "-n", "2", "--", TW_PROGRAM};
  const std::vector<std::string> job =
      small_job({"--set", "data.limit=640", "--set", "group.transport=tcp", "--set", "group.streams=3", "--set",
                 "group.timeout=60.5", "--set", "group.form_timeout=70", "--set", "scheme.name=ssp", "--set",
                 "scheme.patience=61"});
  arguments.insert(arguments.end(), job.begin(), job.end());
  const ProcessResult run = run_program(arguments);
  EXPECT_EQ(run.exit_code, 0) << run.out << run.error;
  EXPECT_THAT(run.out, HasSubstr("20 steps"));
}

TEST_F(TrainOnDigits, AGroupThatDoesNotFormEndsAfterAsLongAsWasSaid) {
  // Worker 1 lives as long as worker 0, and never comes.
  const std::string script =
      "if [ $THALWEG_WORKER = 1 ]; then until [ -e $F/end ]; do sleep 0.05; done; exit 1; fi; "
      "\"$@\"; status=$?; touch $F/end; exit $status";
  std::vector<std::string> arguments = {"launch", "-n", "2", "--min-workers", "2", "--restarts", "0", "--form-timeout"};
  for (const std::string& word : {std::string("3"), std::string("--"), std::string("sh"), std::string("-c"), script,
                                  std::string("sh"), std::string(TW_PROGRAM)}) {
    arguments.push_back(word);
  }
  const std::vector<std::string> job = small_job({"--set", "data.limit=64"});
  arguments.insert(arguments.end(), job.begin(), job.end());
  // Worker 0 has to come within that time.
  std::string said;
  EXPECT_TRUE(in_some_attempt([&] {
    std::filesystem::remove(folder_.path() / "end");
    const ProcessResult run = run_program(arguments, {"F=" + folder_.path().string()});
    EXPECT_EQ(run.exit_code, 1);
    said = run.out + run.error;
    return run.out.find("1 of at least 2 members came (worker 0), missing: worker 1") != std::string::npos;
  })) << said;
}

TEST_F(TrainOnDigits, MessagesByMpiAreNotSaidToBeEncrypted) {
  const ProcessResult run = run_program(small_job({"--set", "group.tls=true", "--set", "group.transport=mpi"}));
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.error, HasSubstr("what goes by MPI is not encrypted"));
}

TEST_F(TrainOnDigits, ARunThatFindsACheckpointGoesOn) {
  const std::string checkpoints = "output.checkpoints=" + (folder_.path() / "run").string();
  const std::vector<std::string> first = {"--json", "--set", checkpoints, "--set", "data.limit=640"};
  EXPECT_EQ(json_of(run_program(small_job(first)))["steps"], 20);
  std::vector<std::string> second = first;
  second.insert(second.end(), {"--set", "train.epochs=3"});
  const nlohmann::json report = json_of(run_program(small_job(second)));
  EXPECT_EQ(report["steps"], 30);
  EXPECT_EQ(report["steps_before"], 20);
  EXPECT_EQ(report["epochs"].size(), 3U);
}

TEST_F(TrainOnDigits, ARunThatIsDoneSaysSoAndWhatToDo) {
  const std::vector<std::string> job =
      small_job({"--set", "output.checkpoints=" + folder_ / "run", "--set", "data.limit=640"});
  const ProcessResult first = run_program(job), second = run_program(job);
  EXPECT_THAT(first.out, ::testing::StartsWith("20 steps  loss")) << first.error;
  EXPECT_THAT(second.out, HasSubstr("20 steps (none of them now: the checkpoint has all; more train.epochs go on, "
                                    "output.resume = false begins anew)"))
      << second.error;
  std::vector<std::string> other = job;
  other.insert(other.end(), {"--set", "train.batch_size=32"});
  const ProcessResult changed = run_program(other);
  EXPECT_EQ(changed.exit_code, 1);
  EXPECT_THAT(changed.error,
              HasSubstr("batch_size: 64 there, 32 here\nGive output.checkpoints another folder, or begin "
                        "anew with output.resume = false"));
}

TEST_F(TrainOnDigits, TheRateFollowsTheSchedule) {
  const nlohmann::json report = json_of(run_program(small_job(
      {"--json", "--set", "data.limit=640", "--set", "train.epochs=4", "--set", "schedule.name=cosine", "--set",
       "schedule.warm_up=1", "--set", "schedule.lowest=0.0001", "--set", "train.learning_rate=0.01"})));
  std::vector<double> rates;
  for (const nlohmann::json& epoch : report["epochs"]) rates.push_back(epoch["learning_rate"].get<double>());
  // Of the last step of an epoch of 10 steps each.
  EXPECT_NEAR(rates[0], 0.01 * 0.91, 1e-6);
  EXPECT_GT(rates[1], rates[2]);
  EXPECT_GT(rates[2], rates[3]);
  EXPECT_LT(rates[3], 0.0002);
  EXPECT_GE(rates[3], 0.0001);
}

TEST_F(TrainOnDigits, TrainingStopsWhenNothingGetsBetter) {
  const std::vector<std::string> job =
      small_job({"--json", "--set", "data.limit=64", "--set", "train.epochs=30", "--set", "train.patience=2", "--set",
                 "train.min_change=1", "--set", "train.metric=[\"accuracy\", \"top_k_accuracy\"]"});
  const nlohmann::json report = json_of(run_program(job));
  // The first validation is the best so far, the next two are not better by 1.
  EXPECT_EQ(report["epochs"].size(), 3U);
  EXPECT_TRUE(report["epochs"][0].contains("validation_top5_accuracy")) << report["epochs"][0];
  // In a group all stop at the same step, once the wish has gone round.
  std::vector<std::string> arguments = {"launch", "-n", "2", "--", TW_PROGRAM};
  arguments.insert(arguments.end(), job.begin(), job.end());
  const ProcessResult group = run_program(arguments);
  EXPECT_EQ(group.exit_code, 0) << group.error;
  EXPECT_THAT(group.out, ::testing::ContainsRegex("\"steps\": ?4,"));
}

TEST_F(TrainOnDigits, FrozenParametersKeepTheirValues) {
  const auto weights_after = [&](const std::string& epochs) {
    const std::string path = (folder_.path() / (epochs + ".onnx")).string();
    const ProcessResult run =
        run_program(small_job({"--set", "data.limit=640", "--set", "train.epochs=" + epochs, "--set",
                               "train.freeze=[\"conv1.*\"]", "--set", "output.model=" + path}));
    EXPECT_EQ(run.exit_code, 0) << run.error;
    std::map<std::string, std::vector<float>> weights;
    const std::unique_ptr<Graph> graph = onnx::load_for_training(path);
    for (const Value* parameter : graph->parameters()) {
      const Tensor& data = parameter->data();
      weights[parameter->name()] = {data.data<float>(), data.data<float>() + data.shape().num_elements()};
    }
    return weights;
  };
  auto once = weights_after("1"), twice = weights_after("2");
  EXPECT_EQ(once.at("conv1.weight"), twice.at("conv1.weight"));
  EXPECT_NE(once.at("conv2.weight"), twice.at("conv2.weight"));
  EXPECT_THAT(run_program(small_job({"--set", "train.freeze=conv9*"})).error,
              HasSubstr("--set train.freeze: no parameter matches 'conv9*'; nearest: "));
}

TEST(TrainOnImages, BadFilesAreNamedOrLeftOutAndCounted) {
  const TemporaryDirectory folder;
  for (const char* part : {"train", "validation"}) {
    write_odd_images(folder.path() / part / "a");
    write_odd_images(folder.path() / part / "b");
  }
  const std::string text = "[data]\nkind = \"images\"\nimage_size = 32\npath = \"" + folder / "train" +
                           "\"\nvalidation = \"" + folder / "validation" +
                           "\"\n[model]\nname = \"mobilenet_v2\"\nclasses = 2\nimage_size = 32\n"
                           "[train]\nepochs = 2\nbatch_size = 16\nshuffle_window = 8\nreaders = 3\n";
  const std::string path = folder / "job.toml";
  write_bytes(path, text);
  const ProcessResult failing = run_program({"train", path});
  EXPECT_EQ(failing.exit_code, 1);
  EXPECT_THAT(failing.error, HasSubstr(folder / "train/"));
  EXPECT_THAT(failing.error, HasSubstr("; train.bad_samples = \"skip\" leaves out what cannot be read"));
  const std::string model = folder / "model.onnx";
  const ProcessResult run = run_program(
      {"train", path, "--json", "--progress", "--set", "train.bad_samples=skip", "--set", "output.model=" + model});
  const nlohmann::json report = json_of(run);
  // In each of two epochs, of two folders each of training and validation.
  EXPECT_EQ(report["skipped"]["count"], 2 * 4 * kBadImages);
  EXPECT_THAT(report["skipped"]["reasons"][0].get<std::string>(), HasSubstr(folder / "train/"));
  EXPECT_THAT(run.error, HasSubstr("32 samples that could not be read were left out: " + folder / "train/"));
  // The file says how an image becomes an input, and what the classes are.
  const ProcessResult answer = run_program({"predict", model, image_path("photo.jpg")});
  EXPECT_THAT(answer.out, ::testing::ContainsRegex("photo.jpg: [ab] ")) << answer.error;
}

std::string job_of_images(const std::string& path) {
  return "[data]\nkind = \"images\"\nimage_size = 32\npath = \"" + path +
         "\"\n[model]\nname = \"mobilenet_v2\"\nimage_size = 32\n";
}

TEST(TrainOnImages, TheModelHasAsManyClassesAsThereAreFolders) {
  const TemporaryDirectory folder;
  write_classes(folder.path() / "train", {"a", "b", "c"});
  const std::string path = folder / "job.toml", model = folder / "model.onnx";
  write_bytes(path, job_of_images(folder / "train"));
  const ProcessResult run = run_program({"train", path, "--set", "output.model=" + model});
  ASSERT_EQ(run.exit_code, 0) << run.error;
  EXPECT_EQ(onnx::load_for_training(model)->outputs().at(0)->shape()[1], 3);
  EXPECT_THAT(run_program({"train", path, "--set", "data.size=32"}).error,
              HasSubstr("all of data: augment, image_size, kind, limit, max_pixels, path, validation"));
  for (const char* classes : {"2", "4"}) {
    const ProcessResult other = run_program({"train", path, "--set", std::string("model.classes=") + classes});
    EXPECT_EQ(other.exit_code, 2);
    EXPECT_THAT(other.error, HasSubstr(std::string("--set model.classes is ") + classes +
                                       ", the data have 3 classes: leave it out, and the model has as many"));
  }
}

TEST(TrainOnImages, WhatTakesDataToValidateOnSaysSo) {
  const TemporaryDirectory folder;
  write_classes(folder.path() / "train", {"a", "b"});
  const std::string path = folder / "job.toml";
  write_bytes(path, job_of_images(folder / "train"));
  const ProcessResult patient = run_program({"train", path, "--set", "train.patience=2"});
  EXPECT_EQ(patient.exit_code, 2);
  EXPECT_THAT(patient.error, HasSubstr("--set train.patience: there are no data on which to see whether the model gets "
                                       "better: give data.validation"));
  const ProcessResult measured = run_program({"train", path, "--set", "train.metric=accuracy"});
  EXPECT_EQ(measured.exit_code, 0);
  EXPECT_THAT(measured.error, HasSubstr("warning: train.metric (accuracy) is not measured: give data.validation"));
  // It is the default, of which nobody has to be told.
  EXPECT_THAT(run_program({"train", path}).error, ::testing::Not(HasSubstr("warning")));
}

TEST_F(TrainOnDigits, AnotherNumberOfClassesIsAnError) {
  const ProcessResult run = run_program(small_job({"--set", "model.classes=30"}));
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.error, HasSubstr("--set model.classes is 30, the data have 10 classes"));
}

TEST(TrainOnTexts, TheModelKnowsHowTextBecomesItsInput) {
  const TemporaryDirectory folder;
  std::string lines;
  for (int i = 0; i < 60; ++i) {
    lines += "praise\tThe soup was lovely, as table " + std::to_string(i % 7) + " said\n";
    lines += "complaint\tThe soup was awful, as table " + std::to_string(i % 7) + " said\n";
  }
  write_bytes(folder / "train.txt", lines);
  write_bytes(folder / "other.txt", "praise\tgood\n");
  const std::string path = folder / "job.toml";
  write_bytes(path, "[data]\nkind = \"texts\"\npath = \"" + folder / "train.txt" + "\"\nvalidation = \"" +
                        folder / "train.txt" + "\"\nlength = 12\ntruncate = \"back\"\n" +
                        "[model]\nname = \"lstm_text\"\nembed = 8\nhidden = 16\n" +
                        "[train]\nepochs = 12\nbatch_size = 20\nlearning_rate = 0.02\nmetric = \"accuracy\"\n");
  const std::string model = folder / "model.onnx";
  const ProcessResult run = run_program({"train", path, "--json", "--set", "output.model=" + model});
  EXPECT_GT(json_of(run)["epochs"].back()["validation_accuracy"].get<double>(), 0.95) << run.error;
  write_bytes(folder / "new.txt", "the soup was AWFUL, as table 9 said\nthe soup was lovely, as table 9 said\n");
  const ProcessResult answer = run_program({"predict", model, folder / "new.txt", "--top", "1", "--format", "csv"});
  EXPECT_THAT(answer.out, ::testing::ContainsRegex("0,complaint,.*\n1,praise,")) << answer.error;
  const ProcessResult classes = run_program({"train", path, "--set", "data.validation=" + folder / "other.txt"});
  EXPECT_EQ(classes.exit_code, 2);
  EXPECT_THAT(classes.error,
              HasSubstr("data.validation: its classes (praise) are not those of data.path (complaint, praise)"));
  const ProcessResult small = run_program({"train", path, "--set", "model.vocab=5"});
  EXPECT_EQ(small.exit_code, 2);
  EXPECT_THAT(small.error, HasSubstr("--set model.vocab is 5, the vocabulary has"));
  EXPECT_THAT(run_program({"train", path, "--set", "model.classes=5"}).error,
              HasSubstr("--set model.classes is 5, the data have 2 classes"));
}

/// What the program says to a job of this text.
ProcessResult run_job(const std::string& text, std::vector<std::string> more = {}) {
  const TemporaryDirectory folder;
  const std::string path = (folder.path() / "job.toml").string();
  std::ofstream(path) << text;
  more.insert(more.begin(), {"train", path});
  return run_program(more);
}

TEST(TrainJobErrors, NameTheKeyAndTheLine) {
  struct Case {
    const char* text;
    const char* expected;
  };
  for (const Case& wrong :
       {Case{"[train]\nepochs = \"three\"\n", "job.toml: line 2: train.epochs must be a whole number"},
        Case{"[train]\nepochs = 0\n", "line 2: train.epochs is 0, must be at least 1"},
        Case{"[train]\n\nloss = \"none\"\n", "line 3: train.loss: unknown loss 'none'; nearest:"},
        Case{"[train]\nprecision = \"f7\"\n", "line 2: train.precision: "},
        Case{"[scheme]\nname = \"magic\"\n", "line 2: scheme.name is 'magic', must be one of: allreduce"},
        Case{"[scheme]\nname = \"ssp\"\npatience = 0\n", "line 3: scheme.patience: option patience"},
        Case{"[scheme]\nstaleness = 2\n",
             "line 2: scheme.staleness: option staleness means nothing to the scheme allreduce; it is one of: ssp"},
        Case{"[scheme]\nshare = 0.1\ncompression = \"bf16\"\n",
             "line 2: scheme.share: option share means nothing to the compression bf16; it is one of the compressions: "
             "dgc, sbc, topk"},
        Case{"[scheme]\nname = \"sparknet\"\ncompression = \"bf16\"\n",
             "line 3: scheme.compression: compression bf16 does not go with the scheme sparknet"},
        Case{"[group]\ntimeout = \"long\"\n", "line 2: group.timeout must be a number"},
        Case{"[group]\nform_timeout = -1\n", "line 2: group.form_timeout must be a number of seconds above 0"},
        Case{"[group]\nstreams = 65\n", "line 2: group.streams must be at most 64"},
        Case{"[schedule]\nname = \"sine\"\n", "line 2: schedule.name is 'sine', must be one of: constant, cosine"},
        Case{"[schedule]\nwarm_up = -1\n", "line 2: schedule.warm_up must be 0 or more"},
        Case{"[schedule]\nwarm_up = 1\n", "line 2: schedule.warm_up takes all 1 epochs of the run"},
        Case{"[schedule]\npower = 2\n", "line 2: schedule.power means nothing to the schedule constant"},
        Case{"[train]\nfreeze = 3\n", "line 2: train.freeze must be text or a list of texts"},
        Case{"[train]\nmetric = [\"acuracy\"]\n", "line 2: train.metric: "},
        Case{"[output]\ncheckpoints = \"hdfs:///x\"\n",
             "line 2: output.checkpoints is 'hdfs:///x': hdfs cannot be written to here. Give the path of a folder"},
        Case{"[output]\ntensorboard = \"s3a://x/y\"\n", "line 2: output.tensorboard is 's3a://x/y'"},
        Case{"[train\n", "job.toml: line 1: "},
        Case{"[train]\n", "'data.kind' is missing"},
        Case{"[data]\nkind = \"csv\"\n",
             "line 2: data.kind is 'csv', must be one of: mnist, images, texts. Tables are "
             "trained on in Python (thalweg.data.Table) or on Spark"},
        Case{"[data]\nkind = \"mnist\"\npath = \"/nowhere\"\n", "line 3: data.path: "}}) {
    const ProcessResult run = run_job(wrong.text);
    EXPECT_EQ(run.exit_code, 2) << wrong.text;
    EXPECT_THAT(run.error, HasSubstr(wrong.expected)) << wrong.text;
  }
}

TEST(TrainJobErrors, OutputThatCannotBeWrittenIsFoundBeforeTheDataAreRead) {
  const TemporaryDirectory folder;
  const std::string file = folder / "file";
  write_bytes(file, "x");
  struct Case {
    std::string setting;
    std::string expected;
  };
  for (const Case& wrong :
       {Case{"output.model=" + folder / "none/model.onnx", "there is no folder '" + folder / "none'"},
        Case{"output.model=" + folder.path().string(), "is a folder: give the path of a file"},
        Case{"output.model=/dev/null", "cannot write to '/dev/null': it is a device"},
        Case{"output.model=/proc/model.onnx", "cannot write to '/proc/model.onnx': "},
        Case{"output.model=" + file + "/model.onnx", "there is no folder '" + file + "'"},
        Case{"output.checkpoints=/proc/x", "cannot write to '/proc/x': "},
        Case{"output.checkpoints=" + file, "'" + file + "' is not a folder"},
        Case{"output.tensorboard=" + file + "/events", "'" + file + "' is not a folder"},
        Case{"output.tensorboard=/proc/x/y", "cannot write to '/proc/x/y': "}}) {
    // There are no data: what is said is about the output.
    const ProcessResult run = run_job("[data]\nkind = \"mnist\"\npath = \"/nowhere\"\n", {"--set", wrong.setting});
    EXPECT_EQ(run.exit_code, 2) << wrong.setting;
    EXPECT_THAT(run.error, HasSubstr("--set " + wrong.setting.substr(0, wrong.setting.find('=')) + ": "));
    EXPECT_THAT(run.error, HasSubstr(wrong.expected)) << wrong.setting;
  }
}

TEST(TrainJobErrors, OutputThatCanBeWrittenIsNotTouchedYet) {
  const TemporaryDirectory folder;
  const ProcessResult run =
      run_job("[data]\nkind = \"mnist\"\npath = \"/nowhere\"\n",
              {"--set", "output.model=" + folder / "model.onnx", "--set", "output.checkpoints=" + folder / "a/b",
               "--set", "output.tensorboard=" + folder / "c"});
  EXPECT_THAT(run.error, HasSubstr("line 3: data.path: "));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(TrainJobErrors, AFolderIsNotAJob) {
  const TemporaryDirectory folder;
  const ProcessResult run = run_program({"train", folder.path().string()});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.error, HasSubstr("'" + folder.path().string() + "' is a folder, not a job file"));
}

TEST(TrainJobErrors, NameTheOptionThatSetAKey) {
  EXPECT_THAT(run_job("", {"--set", "train.epochs=many"}).error,
              HasSubstr("--set train.epochs must be a whole number"));
  EXPECT_THAT(run_job("", {"--set", "epochs"}).error, HasSubstr("must be section.key=value"));
}

TEST_F(TrainOnDigits, KeysThatMeanNothingAreErrors) {
  const ProcessResult run = run_program(small_job({"--set", "train.epoch=3"}));
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.error, HasSubstr("--set train.epoch means nothing here; nearest: epochs, "));
  EXPECT_THAT(run_program(small_job({"--set", "train.lr=0.1"})).error,
              ::testing::ContainsRegex("train.lr means nothing here; .*; all of train: .*, learning_rate, "));
  EXPECT_THAT(run_program(small_job({"--set", "data.size=64"})).error,
              ::testing::ContainsRegex("data.size means nothing here; .*; all of data: kind, limit, path"));
  EXPECT_THAT(run_program(small_job({"--set", "trian.epochs=1"})).error,
              HasSubstr("trian.epochs means nothing here; nearest: train.epochs, "));
  EXPECT_THAT(run_program(small_job({"--set", "model.clases=3"})).error, HasSubstr("classes"));
}

}  // namespace
}  // namespace thalweg::testing
