// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "support/patience.h"
#include "thalweg/c_training.h"

namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kWorkers = 2;
constexpr const char* kFields =
    R"([{"name": "x", "role": "input", "kind": "tensor", "dtype": "f32", "shape": [1, 28, 28]},
        {"name": "y", "role": "target", "kind": "tensor", "dtype": "i64", "shape": []}])";

std::string text_of(tw_result* result) {
  std::string text = tw_result_text(result);
  tw_result_free(result);
  return text;
}

std::string bytes_of(tw_result* result) {
  tw_tensor tensor = {};
  EXPECT_EQ(tw_result_num_tensors(result), 1U);
  EXPECT_EQ(tw_result_tensor(result, 0, &tensor), TW_OK) << tw_last_error();
  EXPECT_EQ(tensor.dtype, TW_U8);
  std::string bytes(static_cast<const char*>(tensor.data), static_cast<size_t>(tensor.dims[0]));
  tw_result_free(result);
  return bytes;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string temporary(const std::string& name) { return ::testing::TempDir() + "/c_training_" + name; }

/// Pictures that are bright on the left or on the right, labelled by the side.
tw_rows* make_rows(int count, unsigned seed) {
  tw_rows* rows = nullptr;
  EXPECT_EQ(tw_rows_create(kFields, 0, nullptr, &rows), TW_OK) << tw_last_error();
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> noise(-0.5F, 0.5F);
  std::vector<float> x(static_cast<size_t>(count) * 784);
  std::vector<int64_t> y(static_cast<size_t>(count));
  for (size_t i = 0; i < y.size(); ++i) {
    y[i] = static_cast<int64_t>(random() % 2);
    for (size_t k = 0; k < 784; ++k) x[i * 784 + k] = noise(random) + ((k % 28 < 14) == (y[i] == 0) ? 1.0F : 0.0F);
  }
  const tw_column columns[] = {{x.data(), x.size() * sizeof(float), nullptr},
                               {y.data(), y.size() * sizeof(int64_t), nullptr}};
  EXPECT_EQ(tw_rows_append(rows, count, columns, 2), TW_OK) << tw_last_error();
  return rows;
}

class Training : public ::testing::Test {
 protected:
  void SetUp() override {
    tw_result* result = nullptr;
    ASSERT_EQ(tw_training_model("zoo:lenet", "[model]\nclasses = 2\n", model_.c_str(), &result), TW_OK)
        << tw_last_error();
    const json description = json::parse(text_of(result));
    EXPECT_EQ(description["inputs"][0]["shape"], json({-1, 1, 28, 28}));
    const json classes = {{"count", 2}, {"ignored", -100}};
    EXPECT_EQ(description["targets"][0], json({{"dtype", "i64"}, {"shape", json::array()}, {"classes", classes}}));
    ASSERT_EQ(tw_make_secret(&result), TW_OK);
    secret_ = text_of(result);
  }
  tw_rendezvous* start(int workers, bool tls = false) const {
    tw_rendezvous* rendezvous = nullptr;
    tw_rendezvous_options options = {};
    options.secret = secret_.c_str();
    options.workers = workers;
    options.tls = tls ? 1 : 0;
    EXPECT_EQ(tw_rendezvous_start(&options, &rendezvous), TW_OK) << tw_last_error();
    return rendezvous;
  }
  tw_training* create(const tw_rendezvous* rendezvous, int seat, uint32_t attempt = 0) const {
    tw_training_options options = {};
    options.model = model_.c_str();
    options.settings = settings_.c_str();
    options.rendezvous = rendezvous != nullptr ? tw_rendezvous_address(rendezvous) : nullptr;
    options.secret = secret_.c_str();
    options.seat = seat;
    options.attempt = attempt;
    tw_training* training = nullptr;
    EXPECT_EQ(tw_training_create(&options, &training), TW_OK) << tw_last_error();
    return training;
  }

  const std::string model_ = temporary("model");
  std::string secret_;
  std::string settings_ = "[train]\nepochs = 3\nbatch_size = 20\nthreads = 1\n[optimizer]\nname = \"adam\"\n";
};

TEST(TrainingSettings, TextNeedsNoQuotesAndTheLastCounts) {
  const char* assignments[] = {"train.loss=mse", "train.epochs=3", "train.epochs=4", "train.shuffle=false",
                               "output.checkpoints=\"/a b\""};
  tw_result* result = nullptr;
  ASSERT_EQ(tw_training_settings(assignments, 5, &result), TW_OK) << tw_last_error();
  const std::string settings = text_of(result);
  EXPECT_THAT(settings, HasSubstr("epochs = 4"));
  EXPECT_THAT(settings, HasSubstr("shuffle = false"));
  EXPECT_EQ(tw_training_model("zoo:lenet", settings.c_str(), temporary("mse").c_str(), &result), TW_OK)
      << tw_last_error();
  tw_result_free(result);
  const char* wrong[] = {"epochs"};
  EXPECT_NE(tw_training_settings(wrong, 1, &result), TW_OK);
  EXPECT_THAT(tw_last_error(), HasSubstr("setting epochs: must be section.key=value"));
}

TEST(TrainingMemory, IsThatOfWeightsGradientsOptimiserAndActivations) {
  tw_result* result = nullptr;
  const auto memory = [&](const char* settings) {
    EXPECT_EQ(tw_training_model("zoo:lenet", settings, temporary("memory").c_str(), &result), TW_OK) << tw_last_error();
    return json::parse(text_of(result));
  };
  const json plain = memory("[optimizer]\nname = \"sgd\"\n");
  const json adam = memory("[optimizer]\nname = \"adam\"\n[train]\nbatch_size = 7\n");
  EXPECT_EQ(plain["memory"]["weights"].get<int64_t>() / 3 * 5, adam["memory"]["weights"]) << "Adam keeps two moments";
  EXPECT_EQ(plain["memory"]["sample"], adam["memory"]["sample"]);
  EXPECT_GT(plain["memory"]["sample"], 28 * 28 * 6 * 4) << "the first layer's output alone";
  EXPECT_EQ(adam["batch_size"], 7);
}

TEST_F(Training, AloneFromRowsToAnOnnxFile) {
  tw_training* training = create(nullptr, 0);
  tw_rows* rows = make_rows(100, 1);
  ASSERT_EQ(tw_training_run(training, rows), TW_OK) << tw_last_error();
  tw_result* result = nullptr;
  ASSERT_EQ(tw_training_report(training, &result), TW_OK);
  const json report = json::parse(text_of(result));
  EXPECT_EQ(report["steps"], 15);
  EXPECT_EQ(report["rows"], 100);
  int32_t gives = 0;
  ASSERT_EQ(tw_training_gives(training, &gives), TW_OK) << tw_last_error();
  EXPECT_EQ(gives, 1);
  EXPECT_LT(report["epochs"][2]["loss"], report["epochs"][0]["loss"]);
  const std::string path = temporary("alone.onnx");
  const json properties = {{"who", "me"}, {"thalweg.preprocessing", R"({"transforms": [{"name": "random_crop"}]})"}};
  ASSERT_EQ(tw_training_save(training, path.c_str(), properties.dump().c_str()), TW_OK) << tw_last_error();
  ASSERT_EQ(tw_training_export(training, properties.dump().c_str(), &result), TW_OK) << tw_last_error();
  EXPECT_EQ(bytes_of(result), content_of(path));
  EXPECT_EQ(tw_training_export(training, "[]", &result), TW_ERROR);
  EXPECT_THAT(tw_last_error(), HasSubstr("no JSON object of texts"));
  tw_training_free(training);
  tw_rows_free(rows);
  tw_model* model = nullptr;
  ASSERT_EQ(tw_model_load(path.c_str(), nullptr, &model), TW_OK) << tw_last_error();
  EXPECT_STREQ(tw_model_metadata(model, "who"), "me");
  const json preprocessing = json::parse(tw_model_metadata(model, "thalweg.preprocessing"));
  EXPECT_EQ(preprocessing["transforms"][0]["name"], "center_crop") << "prediction is not random";
  tw_model_free(model);
  // What was saved can be trained again.
  EXPECT_EQ(tw_training_model(path.c_str(), nullptr, temporary("again").c_str(), &result), TW_OK) << tw_last_error();
  tw_result_free(result);
}

TEST_F(Training, WhatTheFileOfTheStartModelSaysStaysUnlessTheTrainingKnowsBetter) {
  const std::string begun = temporary("begun.onnx"), packed = temporary("packed.onnx"), ended = temporary("ended.onnx");
  tw_rows* rows = make_rows(40, 1);
  const auto train = [&](const std::string& source, const std::string& path, const json& properties) {
    tw_training_options options = {};
    options.model = source.c_str();
    options.settings = settings_.c_str();
    tw_training* training = nullptr;
    ASSERT_EQ(tw_training_create(&options, &training), TW_OK) << tw_last_error();
    ASSERT_EQ(tw_training_run(training, rows), TW_OK) << tw_last_error();
    ASSERT_EQ(tw_training_save(training, path.c_str(), properties.dump().c_str()), TW_OK) << tw_last_error();
    tw_training_free(training);
  };
  train(model_, begun, {{"who", "me"}, {"thalweg.class_names", R"(["left","right"])"}});
  tw_result* result = nullptr;
  ASSERT_EQ(tw_training_model(begun.c_str(), settings_.c_str(), packed.c_str(), &result), TW_OK) << tw_last_error();
  const json described = json::parse(text_of(result))["metadata"];
  EXPECT_EQ(described["who"], "me");
  EXPECT_EQ(described["thalweg.class_names"], R"(["left","right"])");
  // By way of the file for other processes, as on Spark.
  train(packed, ended, {{"who", "you"}});
  tw_rows_free(rows);
  tw_model* model = nullptr;
  ASSERT_EQ(tw_model_load(ended.c_str(), nullptr, &model), TW_OK) << tw_last_error();
  EXPECT_STREQ(tw_model_metadata(model, "who"), "you");
  EXPECT_STREQ(tw_model_metadata(model, "thalweg.class_names"), R"(["left","right"])");
  tw_model_free(model);
}

TEST_F(Training, RowsToValidateOnAreMeasuredAfterEveryEpoch) {
  settings_ = "[train]\nepochs = 3\nbatch_size = 20\nthreads = 1\npatience = 9\n";
  tw_training* training = create(nullptr, 0);
  tw_rows* rows = make_rows(100, 1);
  tw_rows* others = make_rows(30, 2);
  ASSERT_EQ(tw_training_validate_on(training, others), TW_OK) << tw_last_error();
  ASSERT_EQ(tw_training_run(training, rows), TW_OK) << tw_last_error();
  tw_result* result = nullptr;
  ASSERT_EQ(tw_training_report(training, &result), TW_OK);
  const json report = json::parse(text_of(result));
  for (const json& epoch : report["epochs"]) {
    EXPECT_TRUE(epoch.contains("validation_loss") && epoch.contains("validation_accuracy")) << epoch;
  }
  tw_training_free(training);
  tw_rows_free(rows);
  tw_rows_free(others);
}

TEST_F(Training, WorkersEncryptWhatTheySendIfToldTo) {
  for (const bool agrees : {true, false}) {
    tw_rendezvous* rendezvous = start(1, true);
    if (agrees) settings_ += "[group]\ntls = true\n";
    tw_training* training = create(rendezvous, 0);
    settings_ = settings_.substr(0, settings_.find("[group]"));
    tw_rows* rows = make_rows(20, 1);
    const tw_status status = tw_training_run(training, rows);
    EXPECT_EQ(status == TW_OK, agrees) << tw_last_error();
    tw_result* result = nullptr;
    if (agrees) {
      ASSERT_EQ(tw_training_report(training, &result), TW_OK);
      EXPECT_TRUE(json::parse(text_of(result))["tls"]);
    } else {
      EXPECT_THAT(tw_last_error(), HasSubstr("the group uses TLS, which this member was not told to"));
    }
    tw_training_free(training);
    tw_rows_free(rows);
    tw_rendezvous_free(rendezvous);
  }
}

TEST_F(Training, WorkersWithRowsOfTheirOwnEndAlike) {
  tw_rendezvous* rendezvous = start(kWorkers);
  std::vector<std::future<std::vector<float>>> pending;
  for (int seat = 0; seat < kWorkers; ++seat) {
    pending.push_back(std::async(std::launch::async, [&, seat] {
      tw_training* training = create(rendezvous, seat);
      tw_rows* rows = make_rows(seat == 0 ? 90 : 10, static_cast<unsigned>(seat));
      EXPECT_EQ(tw_training_run(training, rows), TW_OK) << tw_last_error();
      tw_result* result = nullptr;
      EXPECT_EQ(tw_training_report(training, &result), TW_OK);
      const json report = json::parse(text_of(result));
      EXPECT_EQ(report["steps"], 15);
      EXPECT_EQ(report["rank"], seat);
      EXPECT_EQ(report["rows"], 100);
      const std::string path = temporary("worker" + std::to_string(seat) + ".onnx");
      EXPECT_EQ(tw_training_save(training, path.c_str(), nullptr), TW_OK) << tw_last_error();
      int32_t gives = 0;
      EXPECT_EQ(tw_training_gives(training, &gives), TW_OK) << tw_last_error();
      EXPECT_EQ(gives, seat == 0 ? 1 : 0);
      if (gives != 0) {
        EXPECT_EQ(tw_training_gave(training), TW_OK);
        EXPECT_EQ(tw_rendezvous_accept(rendezvous), TW_OK);
      }
      tw_training_free(training);
      tw_rows_free(rows);
      tw_model* model = nullptr;
      EXPECT_EQ(tw_model_load(path.c_str(), nullptr, &model), TW_OK) << tw_last_error();
      std::vector<float> input(784, 0.5F);
      const int64_t dims[] = {1, 1, 28, 28};
      const tw_tensor tensor = {TW_F32, 4, dims, input.data()};
      EXPECT_EQ(tw_model_run(model, &tensor, 1, &result), TW_OK) << tw_last_error();
      tw_tensor output = {};
      EXPECT_EQ(tw_result_tensor(result, 0, &output), TW_OK);
      const auto* values = static_cast<const float*>(output.data);
      std::vector<float> answer(values, values + 2);
      tw_result_free(result);
      tw_model_free(model);
      return answer;
    }));
  }
  const std::vector<float> first = pending[0].get();
  EXPECT_EQ(first, pending[1].get());
  tw_result* result = nullptr;
  ASSERT_EQ(tw_rendezvous_state(rendezvous, &result), TW_OK);
  const json state = json::parse(text_of(result));
  EXPECT_TRUE(state["finished"]);
  EXPECT_EQ(state["error"], "");
  EXPECT_FALSE(state["log"].empty());
  tw_rendezvous_free(rendezvous);
}

TEST_F(Training, AnErrorOfOneWorkerIsEverybodys) {
  settings_ += "[scheme]\nname = \"sharded\"\n";
  tw_rendezvous* rendezvous = start(kWorkers);
  std::vector<std::future<std::string>> pending;
  for (int seat = 0; seat < kWorkers; ++seat) {
    pending.push_back(std::async(std::launch::async, [&, seat] {
      tw_training* training = create(rendezvous, seat);
      tw_rows* rows = make_rows(50, 1);
      if (seat == 1) {  // a label that is no class
        std::vector<float> x(784, 0.0F);
        const int64_t y = 7;
        const tw_column columns[] = {{x.data(), x.size() * sizeof(float), nullptr}, {&y, sizeof y, nullptr}};
        EXPECT_EQ(tw_rows_append(rows, 1, columns, 2), TW_OK);
      }
      EXPECT_EQ(tw_training_run(training, rows), TW_ERROR);
      std::string error = tw_last_error();
      tw_training_free(training);
      tw_rows_free(rows);
      return error;
    }));
  }
  for (auto& error : pending) EXPECT_THAT(error.get(), HasSubstr("7"));
  tw_result* result = nullptr;
  ASSERT_EQ(tw_rendezvous_state(rendezvous, &result), TW_OK);
  EXPECT_THAT(json::parse(text_of(result))["error"].get<std::string>(), HasSubstr("7"));
  tw_rendezvous_free(rendezvous);
}

TEST_F(Training, TheModelOfAnotherWorkerServesIfTheFirstIsLost) {
  tw_rendezvous* rendezvous = start(kWorkers);
  std::vector<tw_training*> trainings;
  std::vector<tw_rows*> rows;
  std::vector<std::future<tw_status>> pending;
  for (int seat = 0; seat < kWorkers; ++seat) {
    trainings.push_back(create(rendezvous, seat));
    rows.push_back(make_rows(50, static_cast<unsigned>(seat)));
    pending.push_back(std::async(std::launch::async, [training = trainings.back(), own = rows.back()] {
      return tw_training_run(training, own);
    }));
  }
  for (auto& status : pending) EXPECT_EQ(status.get(), TW_OK);
  int32_t gives = 0;
  ASSERT_EQ(tw_training_gives(trainings[0], &gives), TW_OK) << tw_last_error();
  EXPECT_EQ(gives, 1);
  tw_training_free(trainings[0]);
  ASSERT_EQ(tw_training_gives(trainings[1], &gives), TW_OK) << tw_last_error();
  EXPECT_EQ(gives, 1);
  const std::string path = temporary("second.onnx");
  EXPECT_EQ(tw_training_save(trainings[1], path.c_str(), nullptr), TW_OK) << tw_last_error();
  EXPECT_EQ(tw_training_gave(trainings[1]), TW_OK);
  tw_training_free(trainings[1]);
  EXPECT_EQ(tw_rendezvous_accept(rendezvous), TW_OK);
  // Whoever is started again has nothing to do.
  tw_training* late = create(rendezvous, 0);
  EXPECT_EQ(tw_training_join(late), TW_SEAT_TAKEN) << tw_last_error();
  tw_training_free(late);
  for (tw_rows* own : rows) tw_rows_free(own);
  tw_rendezvous_free(rendezvous);
}

TEST_F(Training, ASpareWaitsAndHasNoRowsBeforeItHasTheSeat) {
  tw_rendezvous* rendezvous = start(kWorkers);
  tw_training* first = create(rendezvous, 0);
  ASSERT_EQ(tw_training_join(first), TW_OK) << tw_last_error();
  ASSERT_EQ(tw_training_reading(first, 1234567), TW_OK);
  tw_training* spare = create(rendezvous, 0);
  auto waiting = std::async(std::launch::async, [&] { return tw_training_join(spare); });
  const auto progress = [&] {
    tw_result* result = nullptr;
    EXPECT_EQ(tw_rendezvous_state(rendezvous, &result), TW_OK);
    return json::parse(text_of(result))["progress"].get<std::string>();
  };
  EXPECT_TRUE(thalweg::testing::eventually([&] { return progress().find("reads") != std::string::npos; }));
  EXPECT_THAT(progress(), AllOf(HasSubstr("waiting for 1 of 2 workers to come"), HasSubstr(" reads, 1.2 M rows")));
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
  tw_training_free(first);
  EXPECT_EQ(waiting.get(), TW_OK);
  tw_training_free(spare);
  tw_rendezvous_free(rendezvous);
}

TEST_F(Training, WhatCannotBeTrainedOnEndsTheJobBeforeItBegins) {
  tw_rendezvous* rendezvous = start(kWorkers);
  tw_training* reading = create(rendezvous, 0);
  tw_training* other = create(rendezvous, 1);
  ASSERT_EQ(tw_training_join(reading), TW_OK) << tw_last_error();
  tw_rows* rows = make_rows(50, 1);
  auto waiting = std::async(std::launch::async, [&] {
    const tw_status status = tw_training_run(other, rows);
    EXPECT_THAT(tw_last_error(), HasSubstr("row 7 is bad"));
    return status;
  });
  ASSERT_EQ(tw_training_fail(reading, "row 7 is bad"), TW_OK);
  EXPECT_EQ(waiting.get(), TW_ERROR);
  tw_training_free(reading);
  tw_training_free(other);
  tw_rows_free(rows);
  tw_rendezvous_free(rendezvous);
}

TEST_F(Training, CancelEndsAWorkerThatWaitsForOthers) {
  tw_rendezvous* rendezvous = start(kWorkers);
  tw_training* training = create(rendezvous, 0);
  tw_rows* rows = make_rows(50, 1);
  auto running = std::async(std::launch::async, [&] { return tw_training_run(training, rows); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  tw_training_cancel(training);
  ASSERT_TRUE(thalweg::testing::comes(running));
  EXPECT_EQ(running.get(), TW_ERROR);
  tw_training_free(training);
  tw_rows_free(rows);
  tw_rendezvous_free(rendezvous);
}

TEST_F(Training, WhatIsWrongIsNamed) {
  settings_ = "[train]\nepocs = 3\n";
  tw_training_options options = {};
  options.model = model_.c_str();
  options.settings = settings_.c_str();
  tw_training* training = nullptr;
  EXPECT_EQ(tw_training_create(&options, &training), TW_ERROR);
  EXPECT_THAT(tw_last_error(), HasSubstr("train.epocs"));
  tw_rows* rows = nullptr;
  EXPECT_EQ(tw_rows_create(R"([{"name": "x", "role": "inputs", "kind": "tensor"}])", 0, nullptr, &rows), TW_ERROR);
  EXPECT_THAT(tw_last_error(), HasSubstr("must be one of: input, target, name"));
  EXPECT_EQ(tw_rows_create("{", 0, nullptr, &rows), TW_ERROR);
  tw_result* result = nullptr;
  EXPECT_EQ(tw_training_model("zoo:lenett", nullptr, temporary("none").c_str(), &result), TW_ERROR);
  EXPECT_THAT(tw_last_error(), HasSubstr("lenet"));
  EXPECT_EQ(tw_training_model("/nowhere.onnx", nullptr, temporary("none").c_str(), &result), TW_ERROR);
}

}  // namespace
