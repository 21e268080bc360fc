// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "support/temporary_directory.h"
#include "thalweg/train.h"
#include "train/small_models.h"

namespace thalweg::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TrainOptions checkpointed(const std::string& directory, int64_t epochs) {
  TrainOptions options;
  options.epochs = epochs;
  options.batch_size = 6;
  options.seed = 9;
  options.threads = 2;
  options.progress = ShowProgress::kNone;
  options.schedule = optim::plateau(0.01, {.factor = 0.5, .patience = 0});
  options.checkpoints.directory = directory;
  options.checkpoints.when = optim::several_iterations(3);
  return options;
}

struct StopAt : Callback {
  Trainer* trainer = nullptr;
  int64_t iteration = 0;
  void on_step(const TrainState& state) override {
    if (state.progress.iteration == iteration) trainer->request_stop();
  }
};

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void expect_same_weights(const Model& actual, const Model& expected) {
  for (const std::string& name : expected.weight_names()) {
    EXPECT_EQ(floats(actual.weight(name)), floats(expected.weight(name))) << name;
  }
}

TEST(Checkpoint, AResumedRunEndsWithTheSameBits) {
  const auto train = conv_data(20), validation = conv_data(7);
  for (const char* name : {"adam", "ftrl", "sgd"}) {
    const TemporaryDirectory folder;
    const std::map<std::string, double> settings =
        name == std::string("sgd") ? std::map<std::string, double>{{"momentum", 0.9}} : std::map<std::string, double>{};
    Model whole(conv_graph());
    Trainer uninterrupted(whole, squared_error(), optim::make_optimizer(name, settings), checkpointed("", 5));
    uninterrupted.fit(train, validation);

    Model first(conv_graph());
    TrainOptions options = checkpointed(folder / "c", 5);
    auto stopper = std::make_shared<StopAt>();
    options.callbacks = {stopper};
    Trainer interrupted(first, squared_error(), optim::make_optimizer(name, settings), options);
    stopper->trainer = &interrupted;
    stopper->iteration = 11;  // of 4 an epoch: the next batch is the smaller one
    interrupted.fit(train, validation);

    Model second(conv_graph());
    second.predict({random_tensor(DType::kF32, {1, 3, 8, 8}, 1)});
    Trainer resumed(second, squared_error(), optim::make_optimizer(name, settings), checkpointed(folder / "c", 5));
    resumed.resume(folder / "c");
    EXPECT_EQ(resumed.state().progress.iteration, 11);
    expect_same_weights(second, first);
    resumed.fit(train, validation);
    expect_same_weights(second, whole);
    ASSERT_EQ(resumed.history().size(), uninterrupted.history().size());
    for (size_t i = 0; i < resumed.history().size(); ++i) {
      EXPECT_EQ(resumed.history()[i].loss, uninterrupted.history()[i].loss) << name << " epoch " << i;
      EXPECT_EQ(resumed.history()[i].learning_rate, uninterrupted.history()[i].learning_rate);
    }
  }
}

class CheckpointFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    train();
    newest_ = find_checkpoint(directory());
  }
  std::string directory() const { return folder_ / "c"; }
  void train() {
    Trainer trainer(model_, squared_error(), optim::adam(), checkpointed(directory(), 3));
    trainer.fit(data_, data_);
  }
  std::string resume_error(const std::string& path, TrainOptions options, const std::string& optimizer = "adam") {
    Model model(conv_graph());
    const auto before = floats(model.weight("conv.weight"));
    Trainer trainer(model, squared_error(), optim::make_optimizer(optimizer), std::move(options));
    const std::string error = error_of([&] { trainer.resume(path); });
    if (!error.empty()) {
      EXPECT_EQ(floats(model.weight("conv.weight")), before) << "changed by a failed resume";
    }
    return error;
  }
  std::string resume_error() { return resume_error(directory(), checkpointed("", 3)); }

  TemporaryDirectory folder_;
  data::TensorDataset data_ = conv_data(20);
  Model model_{conv_graph()};
  std::string newest_;
};

TEST_F(CheckpointFolder, KeepsTheNewest) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory())) names.push_back(entry.path().filename());
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("step-00000006", "step-00000009", "step-00000012"));
  EXPECT_EQ(std::filesystem::path(newest_).filename(), "step-00000012");
}

TEST_F(CheckpointFolder, TheWeightsAreAFileOfTheirOwn) {
  Model other(conv_graph());
  other.load_weights((std::filesystem::path(newest_) / kWeightsFile).string());
  expect_same_weights(other, model_);
}

TEST_F(CheckpointFolder, LatestPassesOverWhatIsIncomplete) {
  namespace fs = std::filesystem;
  fs::create_directory(folder_.path() / "c" / "step-00000099");
  write_bytes(folder_.path() / "c" / "step-00000099" / kWeightsFile, "half");
  fs::create_directory(folder_.path() / "c" / ".step-00000100-1.part");
  write_bytes(folder_.path() / "c" / "step-notes", "mine");
  fs::create_directory(folder_.path() / "c" / "step-99999999999999999999");
  EXPECT_EQ(find_checkpoint(directory()), newest_);
  EXPECT_EQ(find_checkpoint(newest_), newest_);
  EXPECT_EQ(find_checkpoint(folder_ / "absent"), "");
  EXPECT_FALSE(Trainer::can_resume(folder_ / "absent"));
  EXPECT_TRUE(Trainer::can_resume(directory()));
  EXPECT_THAT(resume_error(folder_ / "absent", checkpointed("", 3)), HasSubstr("no complete checkpoint"));
}

TEST_F(CheckpointFolder, LeftoversOfKilledProcessesGo) {
  std::filesystem::create_directory(folder_.path() / "c" / ".step-00000100-1.part");
  Model model(conv_graph());
  Trainer trainer(model, squared_error(), optim::adam(), checkpointed(directory(), 4));
  trainer.resume(directory());
  trainer.fit(data_, data_);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "c" / ".step-00000100-1.part"));
}

TEST_F(CheckpointFolder, NamesATruncatedFile) {
  for (const char* name : {kWeightsFile, kOptimizerFile}) {
    const auto path = std::filesystem::path(newest_) / name;
    const std::string whole = read_bytes(path);
    for (const size_t size : {whole.size() - 1, whole.size() / 2, size_t{4}, size_t{0}}) {
      write_bytes(path, whole.substr(0, size));
      EXPECT_THAT(resume_error(), HasSubstr(path.string())) << size << " bytes of " << whole.size();
    }
    write_bytes(path, whole);
  }
  EXPECT_EQ(resume_error(), "");
}

TEST_F(CheckpointFolder, NamesAForeignFile) {
  const auto weights = std::filesystem::path(newest_) / kWeightsFile;
  const auto optimizer = std::filesystem::path(newest_) / kOptimizerFile;
  const std::string whole = read_bytes(weights);
  save_safetensors(weights.string(), {{"other", Tensor::scalar(1.0F)}});
  EXPECT_THAT(resume_error(), AllOf(HasSubstr(weights.string()), HasSubstr("missing 'conv.weight'")));
  write_bytes(weights, "PK\x03\x04 this is a zip file, is it not?");
  EXPECT_THAT(resume_error(), HasSubstr(weights.string()));
  write_bytes(weights, whole);
  save_safetensors(optimizer.string(), {{"x", Tensor::scalar(1.0F)}});
  EXPECT_THAT(resume_error(), AllOf(HasSubstr(optimizer.string()), HasSubstr("not part of a checkpoint")));
  save_safetensors(optimizer.string(), {}, {{"thalweg.trainer", "{\"format\": 1}"}});
  EXPECT_THAT(resume_error(), AllOf(HasSubstr(optimizer.string()), HasSubstr("settings")));
  save_safetensors(optimizer.string(), {}, {{"thalweg.trainer", "not json"}});
  EXPECT_THAT(resume_error(), HasSubstr("cannot be read"));
}

TEST_F(CheckpointFolder, RejectsARunWithOtherSettings) {
  TrainOptions other = checkpointed("", 3);
  other.batch_size = 5;
  other.seed = 10;
  EXPECT_THAT(resume_error(directory(), other),
              AllOf(HasSubstr("batch_size: 6 there, 5 here"), HasSubstr("seed: 9 there, 10 here")));
  EXPECT_THAT(resume_error(directory(), checkpointed("", 3), "sgd"), HasSubstr("optimizer"));
  Model model(conv_graph());
  Trainer trainer(model, squared_error(), optim::adam(), checkpointed("", 4));
  trainer.resume(directory());
  EXPECT_THAT(error_of([&] { trainer.fit(conv_data(21), data_); }), HasSubstr("20 samples"));
}

TEST_F(CheckpointFolder, AFullDiskLeavesWhatWasThere) {
  const std::string before = read_bytes(std::filesystem::path(newest_) / kOptimizerFile);
  Model model(conv_graph());
  Trainer trainer(model, squared_error(), optim::adam(), checkpointed(directory(), 4));
  trainer.resume(directory());
  // Writing beyond the limit fails with EFBIG, as it does with ENOSPC on a full disk.
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{20000, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string error = error_of([&] { trainer.fit(data_, data_); });
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(error, HasSubstr("cannot write checkpoint"));
  EXPECT_EQ(find_checkpoint(directory()), newest_);
  EXPECT_EQ(read_bytes(std::filesystem::path(newest_) / kOptimizerFile), before);
  for (const auto& entry : std::filesystem::directory_iterator(directory())) {
    EXPECT_NE(entry.path().extension(), ".part") << entry.path();
  }
  EXPECT_EQ(resume_error(), "");
}

}  // namespace
}  // namespace thalweg::testing
