// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Trains a small convolutional network on the 60,000 MNIST digits and saves it.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "thalweg/data.h"
#include "thalweg/losses.h"
#include "thalweg/nn.h"
#include "thalweg/train.h"

using namespace thalweg;

namespace {

constexpr const char* kHelp = R"(Trains a small convolutional network on handwritten digits.

  --epochs N       times through the 60,000 digits (2)
  --batch N        digits in a step (64)
  --limit N        train on the first N digits only
  --threads N      threads (as many as the machine gives)
  --precision P    f32 or bf16 (f32)
  --data FOLDER    where the MNIST files are ($THALWEG_DEPS/mnist or ~/.cache/thalweg/mnist)
  --out FILE       where the model goes (mnist.onnx)
  --checkpoints F  folder for checkpoints, one per epoch (none)
  --resume         go on from the newest checkpoint in that folder, if there is one
  --tensorboard F  folder for TensorBoard events (none)
  --explain        print the kernels of a step, their layouts and times
)";

struct Arguments {
  TrainOptions train;
  std::string data;
  std::string out = "mnist.onnx";
  int64_t limit = 60000;
  bool resume = false;
};

std::string default_data() {
  if (const char* deps = std::getenv("THALWEG_DEPS")) return std::string(deps) + "/mnist";
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr ? home : ".") + "/.cache/thalweg/mnist";
}

int64_t positive(const std::string& option, const char* text) {
  char* end = nullptr;
  const long long value = std::strtoll(text, &end, 10);
  TW_REQUIRE(*text != '\0' && *end == '\0' && value > 0, option, " needs a positive number, got '", text, "'");
  return value;
}

/// Returns false if help was asked for.
bool parse(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--help" || option == "-h") return false;
    if (option == "--resume" || option == "--explain") {
      (option == "--resume" ? arguments.resume : arguments.train.profile) = true;
      continue;
    }
    TW_REQUIRE(i + 1 < argc, "unknown option, or one without its value: ", option, " (--help lists them)");
    const char* value = argv[++i];
    if (option == "--epochs") {
      arguments.train.epochs = positive(option, value);
    } else if (option == "--batch") {
      arguments.train.batch_size = positive(option, value);
    } else if (option == "--limit") {
      arguments.limit = positive(option, value);
    } else if (option == "--threads") {
      arguments.train.threads = static_cast<int>(positive(option, value));
    } else if (option == "--precision") {
      arguments.train.precision = precision_from_name(value);
    } else if (option == "--data") {
      arguments.data = value;
    } else if (option == "--out") {
      arguments.out = value;
    } else if (option == "--checkpoints") {
      arguments.train.checkpoints.directory = value;
    } else if (option == "--tensorboard") {
      arguments.train.tensorboard = value;
    } else {
      raise("unknown option ", option, " (--help lists them)");
    }
  }
  TW_REQUIRE(!arguments.resume || !arguments.train.checkpoints.directory.empty(), "--resume needs --checkpoints");
  return true;
}

std::unique_ptr<Graph> network() {
  auto graph = std::make_unique<Graph>("mnist");
  Value* image = graph->input("image", {DType::kF32, {kFree, 1, 28, 28}});
  const nn::Sequential net{{"conv1", nn::Conv2d(1, 32, 3, {.padding = 1})},
                           {"norm1", nn::BatchNorm2d(32)},
                           {"relu1", nn::ReLU()},
                           {"pool1", nn::MaxPool2d(2)},
                           {"conv2", nn::Conv2d(32, 64, 3, {.padding = 1})},
                           {"norm2", nn::BatchNorm2d(64)},
                           {"relu2", nn::ReLU()},
                           {"pool2", nn::MaxPool2d(2)},
                           {"flatten", nn::Flatten()},
                           {"dropout", nn::Dropout(0.3)},
                           {"head", nn::Linear(64 * 7 * 7, 10)}};
  graph->mark_output(net.forward(nn::Scope(*graph), image), "digit");
  return graph;
}

Trainer* g_trainer = nullptr;

int run(Arguments& arguments) {
  const data::Mnist mnist = data::read_mnist(arguments.data);
  const auto train = data::Subset::first(std::make_shared<data::TensorDataset>(mnist.train), arguments.limit);
  Model model(network());
  std::printf("%s%lld digits to learn from, %lld to test on\n", model.weight_table().c_str(),
              static_cast<long long>(train.size()), static_cast<long long>(mnist.test.size()));
  std::fflush(stdout);
  const int64_t steps = arguments.train.epochs * ((train.size() - 1) / arguments.train.batch_size + 1);
  arguments.train.schedule = optim::one_cycle(3e-3, steps);
  arguments.train.metrics = {metrics::accuracy()};

  Trainer trainer(model, losses::cross_entropy, optim::adam(), arguments.train);
  if (arguments.resume && Trainer::can_resume(arguments.train.checkpoints.directory)) {
    trainer.resume(arguments.train.checkpoints.directory);
  }
  g_trainer = &trainer;
  std::signal(SIGINT, [](int) { g_trainer->request_stop(); });
  trainer.fit(train, mnist.test);
  std::signal(SIGINT, SIG_DFL);
  if (trainer.stop_requested()) std::printf("stopped; the model is as far as it got\n");

  if (arguments.train.profile) std::fputs(trainer.explain().c_str(), stdout);

  model.save(arguments.out, {{"classes", "0,1,2,3,4,5,6,7,8,9"}});
  const double share = trainer.evaluate(mnist.test).at("accuracy");
  std::printf("test accuracy %.2f%%; model in %s\n", 100 * share, arguments.out.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Arguments arguments;
    arguments.data = default_data();
    arguments.train.epochs = 2;
    arguments.train.batch_size = 64;
    if (!parse(argc, argv, arguments)) {
      std::fputs(kHelp, stdout);
      return 0;
    }
    if (!std::filesystem::exists(arguments.data)) {
      std::fprintf(stderr, "no digits in %s: run scripts/setup-data\n", arguments.data.c_str());
      return 77;
    }
    return run(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
