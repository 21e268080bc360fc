// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Every zoo model follows PyTorch's loss for 20 steps from the same weights; tests/golden holds PyTorch's side.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "base/threads.h"
#include "bench/training_run.h"
#include "support/source_dir.h"

namespace thalweg::testing {
namespace {

nlohmann::json read_golden(const std::string& name) {
  const std::string path = std::string(TW_SOURCE_DIR) + "/tests/golden/" + name + ".json";
  std::ifstream file(path);
  TW_REQUIRE(file.good(), "cannot read ", path);
  return nlohmann::json::parse(file);
}

struct Sums {
  double sum = 0.0;
  double abs_sum = 0.0;
};

Sums sums_of(const Tensor& tensor) {
  Sums result;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    const double value = tensor.data<float>()[i];
    result.sum += value;
    result.abs_sum += std::fabs(value);
  }
  return result;
}

void expect_sums(Variables& variables, const nlohmann::json& expected, double tolerance, const char* when) {
  for (const auto& [name, sums] : expected.items()) {
    const Sums actual = sums_of(variables.read(variables.index(name)));
    const double scale = sums.at("abs_sum").get<double>();
    EXPECT_NEAR(actual.abs_sum, scale, tolerance * scale) << name << ' ' << when;
    EXPECT_NEAR(actual.sum, sums.at("sum").get<double>(), tolerance * scale) << name << ' ' << when;
  }
}

/// Names, shapes and order, as PyTorch lists them.
void expect_parameters(Variables& variables, const nlohmann::json& expected) {
  size_t count = 0;
  for (size_t i = 0; i < variables.size(); ++i) count += variables.is_parameter(i) ? 1 : 0;
  EXPECT_EQ(count, expected.size());
  for (const auto& parameter : expected) {
    const std::string name = parameter.at("name");
    ASSERT_TRUE(variables.contains(name)) << name;
    const Shape shape(parameter.at("shape").get<std::vector<int64_t>>());
    EXPECT_EQ(variables.type(variables.index(name)).shape, shape) << name;
  }
}

class Golden : public ::testing::TestWithParam<const char*> {};

TEST_P(Golden, FollowsPyTorch) {
  const nlohmann::json golden = read_golden(GetParam());
  bench::TrainingRun run(golden, available_processors());
  expect_parameters(run.variables(), golden.at("parameters"));
  expect_sums(run.variables(), golden.at("initial"), 1e-12, "before training");
  double worst = 0.0;
  const size_t steps = golden.at("losses").size();
  for (size_t step = 0; step < steps; ++step) {
    const double expected = golden.at("losses")[step];
    const double tolerance = golden.at("tolerances")[step];
    const double loss = run.step();
    const double gap = std::fabs(loss - expected) / std::fabs(expected);
    worst = std::max(worst, gap / tolerance);
    ASSERT_LE(gap, tolerance) << "step " << step << ": loss " << loss << ", PyTorch's is " << expected;
  }
  RecordProperty("worst_share_of_tolerance", std::to_string(worst));
  // Weights move by a small part of themselves: a wrong update of one layer shows in its sums before it does in losses.
  const double last = golden.at("tolerances").back();
  expect_sums(run.variables(), golden.at("final"), std::max(1e-4, last), "after training");
}

INSTANTIATE_TEST_SUITE_P(Zoo, Golden,
                         ::testing::Values("lenet", "alexnet", "vgg16", "inception_v1", "resnet18", "resnet50",
                                           "lstm_text", "ncf", "convlstm", "transformer"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Deterministic, GeneratorMatchesPython) {
  const auto golden = read_golden("deterministic");
  ASSERT_FALSE(golden.at("vectors").empty());
  for (const auto& vector : golden.at("vectors")) {
    const std::string name = vector.at("name");
    const Tensor one = nn::deterministic_uniform(name, {4}, 1.0);
    const Tensor tenth = nn::deterministic_uniform(name, {4}, 0.1);
    const Tensor whole = nn::deterministic_integers(name, {4}, 1000);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(one.data<float>()[i], vector.at("uniform_bound_1")[i].get<float>()) << name;
      EXPECT_EQ(tenth.data<float>()[i], vector.at("uniform_bound_0.1")[i].get<float>()) << name;
      EXPECT_EQ(whole.data<int64_t>()[i], vector.at("mod_1000")[i].get<int64_t>()) << name;
    }
  }
}

}  // namespace
}  // namespace thalweg::testing
