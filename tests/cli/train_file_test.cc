// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Jobs that train on a model from a file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "cli/photo_classes.h"
#include "cli/program.h"
#include "support/temporary_directory.h"
#include "thalweg/model.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;

std::string job_of_images(const std::string& data, const std::string& model) {
  return "[data]\nkind = \"images\"\npath = \"" + data + "\"\n[model]\n" + model + "[train]\nthreads = 1\n";
}

/// A model that a first job has trained on three classes of pictures, and jobs that go on with it.
class TrainFromAFile : public ::testing::Test {
 protected:
  void SetUp() override {
    write_classes(folder_.path() / "photos", {"a", "b", "c"});
    const std::string first = write_job(
        "first.toml", job_of_images(folder_ / "photos", "name = \"mobilenet_v2\"\nimage_size = 32\nwidth = 8\n"));
    const ProcessResult run =
        run_program({"train", first, "--set", "data.image_size=32", "--set", "output.model=" + path("first.onnx")});
    ASSERT_EQ(run.exit_code, 0) << run.error;
    // As others write files: pixels of another scale, and words of their own.
    const Model model = Model::load(path("first.onnx"));
    model.save(path("start.onnx"), {{"author", "somebody"}, {"thalweg.preprocessing", kPreprocessing}});
    job_ = write_job("job.toml", job_of_images(folder_ / "photos", "file = \"" + path("start.onnx") + "\"\n"));
  }

  std::string path(const std::string& name) const { return folder_ / name; }
  std::string write_job(const std::string& name, const std::string& text) const {
    write_bytes(path(name), text);
    return path(name);
  }
  ProcessResult run_job(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"train", job_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  }

  static constexpr const char* kPreprocessing =
      R"({"transforms": [{"name": "resize", "height": 32, "width": 32}], "output": {"mean": [0.5], "deviation": [0.5]}})";
  const TemporaryDirectory folder_;
  std::string job_;
};

TEST_F(TrainFromAFile, KeepsWhatTheFileSaysAndTrainsItsWeights) {
  const std::string trained = path("trained.onnx");
  const ProcessResult run = run_job({"--set", "output.model=" + trained, "--set", "train.learning_rate=0.01"});
  ASSERT_EQ(run.exit_code, 0) << run.error;
  const Model before = Model::load(path("start.onnx")), after = Model::load(trained);
  EXPECT_EQ(after.metadata().at("author"), "somebody");
  EXPECT_EQ(nlohmann::json::parse(after.metadata().at("thalweg.preprocessing"))["output"]["mean"],
            nlohmann::json({0.5}));
  EXPECT_EQ(after.metadata().at("thalweg.class_names"), R"(["a","b","c"])");
  ASSERT_EQ(after.weight_names(), before.weight_names());
  bool moved = false;
  for (const std::string& name : before.weight_names()) {
    const Tensor old = before.weight(name), now = after.weight(name);
    moved |= std::memcmp(old.data<float>(), now.data<float>(), old.num_bytes()) != 0;
  }
  EXPECT_TRUE(moved);
  EXPECT_THAT(run_program({"predict", trained, image_path("photo.jpg")}).out,
              ::testing::ContainsRegex("photo.jpg: [abc] "));
}

TEST_F(TrainFromAFile, BatchNormsLearnOrStayAsAsked) {
  const auto statistics_after = [&](const std::string& norms) {
    const std::string trained = path(norms + ".onnx");
    const ProcessResult run = run_job({"--set", "output.model=" + trained, "--set", "model.train_batch_norm=" + norms});
    EXPECT_EQ(run.exit_code, 0) << run.error;
    const Model model = Model::load(trained);
    for (const std::string& name : model.weight_names()) {
      if (name.ends_with("running_mean")) return model.weight(name);
    }
    ADD_FAILURE() << "there is no batch norm";
    return Tensor();
  };
  const Tensor frozen = statistics_after("frozen"), learned = statistics_after("learned");
  EXPECT_NE(std::memcmp(frozen.data<float>(), learned.data<float>(), frozen.num_bytes()), 0);
  const ProcessResult wrong = run_job({"--set", "model.train_batch_norm=sometimes"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.error, HasSubstr("model.train_batch_norm: unknown training of batch norms 'sometimes'"));
}

TEST_F(TrainFromAFile, WhatDoesNotFitIsAnErrorThatNamesTheKey) {
  const auto error_of = [&](const std::vector<std::string>& settings) {
    std::vector<std::string> arguments;
    for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
    const ProcessResult run = run_job(arguments);
    EXPECT_EQ(run.exit_code, 2) << run.error;
    return run.error;
  };
  EXPECT_THAT(error_of({"data.image_size=16"}),
              HasSubstr("data.image_size: the file of model.file says how its input"));
  EXPECT_THAT(error_of({"model.name=lenet"}), HasSubstr("model.file: model.name is there too"));
  EXPECT_THAT(error_of({"model.file=" + path("none.onnx")}), HasSubstr("none.onnx"));
  write_bytes(path("text.onnx"), "no model");
  EXPECT_THAT(error_of({"model.file=" + path("text.onnx")}), HasSubstr("text.onnx"));
  write_classes(folder_.path() / "two", {"a", "b"});
  EXPECT_THAT(error_of({"data.path=" + path("two")}),
              HasSubstr("model.file: the model tells 3 classes apart, the data have 2"));
}

}  // namespace
}  // namespace thalweg::testing
