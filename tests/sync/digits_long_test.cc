// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Every preset, with 2 and with 4 workers, learns handwritten digits.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "sync/scheme_table.h"
#include "thalweg/data.h"
#include "thalweg/losses.h"
#include "thalweg/zoo.h"

namespace thalweg::testing {
namespace {

struct Case {
  std::string name;
  sync::SchemeOptions scheme;
  DigitsJob job;
  int workers = 2;
};

class Digits : public ::testing::TestWithParam<Case> {
 protected:
  static optim::Optimizer optimizer(const DigitsJob& job) {
    return job.momentum ? optim::sgd({.momentum = *job.momentum}) : optim::adam();
  }

  /// Of the weights that all end with.
  static double accuracy_of(const Case& one, const data::Mnist& digits) {
    const comm::Rendezvous rendezvous(quiet_rendezvous(one.workers, one.workers));
    const auto train = [&] {
      Model model(zoo::lenet());
      TrainOptions options;
      options.epochs = one.job.epochs;
      options.batch_size = 64;
      options.threads = 1;
      // Towards the end smaller: stale gradients keep weights in more of a motion than fresh ones.
      options.schedule = optim::cosine(one.job.rate, one.job.epochs * digits.train.size() / options.batch_size);
      options.seed = 3;
      options.progress = ShowProgress::kNone;
      options.scheme = sync::make_scheme(one.scheme, comm::Group::join(member_of(rendezvous.address())));
      Trainer trainer(model, losses::cross_entropy, optimizer(one.job), options);
      trainer.fit(digits.train);
      return trainer.evaluate(digits.test, {metrics::accuracy()}).at("accuracy");
    };
    std::vector<std::future<double>> others;
    for (int i = 1; i < one.workers; ++i) others.push_back(std::async(std::launch::async, train));
    const double accuracy = train();
    for (auto& other : others) EXPECT_EQ(accuracy, other.get()) << "workers end with different weights";
    return accuracy;
  }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const int workers : {2, 4}) {
    for (const SchemeRow& row : scheme_rows()) {
      sync::SchemeOptions scheme{.name = row.scheme.name, .options = row.digits.options};
      std::string name = row.scheme.name + "_" + std::to_string(workers);
      std::erase(name, '-');
      all.push_back({name, scheme, row.digits, workers});
    }
  }
  all.push_back({"allreduce_bf16_2", {.name = "allreduce", .compression = "bf16"}, {}, 2});
  all.push_back({"ssp_3_2", {.name = "ssp", .options = {{"staleness", 3}}}, {}, 2});
  all.push_back({"ssp_unbounded_2", {.name = "ssp", .options = {{"staleness", sync::kUnbounded}}}, {}, 2});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Presets, Digits, ::testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

TEST_P(Digits, AreLearntToNinetyEightPercent) {
  const char* deps = std::getenv("THALWEG_DEPS");
  const std::string folder = std::string(deps != nullptr ? deps : "") + "/mnist";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no digits: run scripts/setup-data";
  const double accuracy = accuracy_of(GetParam(), data::read_mnist(folder));
  RecordProperty("accuracy", std::to_string(accuracy));
  std::printf("%s: %.2f%%\n", GetParam().name.c_str(), 100 * accuracy);
  EXPECT_GE(accuracy, 0.98);
}

}  // namespace
}  // namespace thalweg::testing
