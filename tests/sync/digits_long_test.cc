// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Every scheme learns handwritten digits.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "sync/workers.h"
#include "thalweg/data.h"
#include "thalweg/losses.h"
#include "thalweg/zoo.h"

namespace thalweg::testing {
namespace {

struct Case {
  const char* name;
  sync::SchemeOptions scheme;
};

class Digits : public ::testing::TestWithParam<Case> {
 protected:
  static double accuracy_of_two_workers(const sync::SchemeOptions& scheme, const data::Mnist& digits) {
    const comm::Rendezvous rendezvous(quiet_rendezvous(2, 2));
    const auto train = [&] {
      Model model(zoo::lenet());
      TrainOptions options;
      options.epochs = 2;
      options.batch_size = 64;
      options.threads = 1;
      // Towards the end smaller: stale gradients keep weights in more of a motion than fresh ones.
      options.schedule = optim::cosine(0.001, 2 * digits.train.size() / options.batch_size);
      options.seed = 3;
      options.progress = ShowProgress::kNone;
      options.scheme = sync::make_scheme(scheme, comm::Group::join(member_of(rendezvous.address())));
      Trainer trainer(model, losses::cross_entropy, optim::adam(), options);
      trainer.fit(digits.train);
      return trainer.evaluate(digits.test, {metrics::accuracy()}).at("accuracy");
    };
    auto other = std::async(std::launch::async, train);
    const double accuracy = train();
    EXPECT_EQ(accuracy, other.get()) << "workers end with different weights";
    return accuracy;
  }
};

INSTANTIATE_TEST_SUITE_P(Schemes, Digits,
                         ::testing::Values(Case{"allreduce", {.name = "allreduce"}},
                                           Case{"allreduce_bf16", {.name = "allreduce", .compression = "bf16"}},
                                           Case{"sharded", {.name = "sharded"}},
                                           Case{"ssp_0", {.name = "ssp", .options = {{"staleness", 0}}}},
                                           Case{"ssp_3", {.name = "ssp", .options = {{"staleness", 3}}}},
                                           Case{"ssp_unbounded",
                                                {.name = "ssp", .options = {{"staleness", sync::kUnbounded}}}},
                                           Case{"localsgd", {.name = "localsgd", .options = {{"period", 10}}}}),
                         [](const auto& test) { return test.param.name; });

TEST_P(Digits, AreLearntToNinetyEightPercent) {
  const char* deps = std::getenv("THALWEG_DEPS");
  const std::string folder = std::string(deps != nullptr ? deps : "") + "/mnist";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no digits: run scripts/setup-data";
  const double accuracy = accuracy_of_two_workers(GetParam().scheme, data::read_mnist(folder));
  RecordProperty("accuracy", std::to_string(accuracy));
  std::printf("%s: %.2f%%\n", GetParam().name, 100 * accuracy);
  EXPECT_GE(accuracy, 0.98);
}

}  // namespace
}  // namespace thalweg::testing
