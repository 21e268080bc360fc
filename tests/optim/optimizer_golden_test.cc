// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The optimisers against PyTorch (make_golden.py).

#include <gtest/gtest.h>

#include <cmath>

#include "tests/optim/golden.h"
#include "thalweg/optim.h"

namespace thalweg::optim {
namespace {

std::map<std::string, double> options_of(const nlohmann::json& entry) {
  return entry["options"].get<std::map<std::string, double>>();
}

void expect_close(const nlohmann::json& expected, const std::vector<float>& actual, const std::string& what) {
  for (size_t i = 0; i < actual.size(); ++i) {
    const double wanted = expected[i % expected.size()];
    ASSERT_NEAR(actual[i], wanted, 3e-6 * std::max(1.0, std::fabs(wanted))) << what << ", element " << i;
  }
}

/// `copies` puts the same numbers side by side: the answer stays the same, but long parameters take
/// the vectorised and threaded path. Ratios of norms do not change either.
void expect_follows_golden(size_t copies) {
  const nlohmann::json golden = read_golden("optimizers.json");
  ASSERT_GE(golden["cases"].size(), 20U);
  for (const auto& entry : golden["cases"]) {
    const std::string name = entry["optimizer"];
    Optimizer optimizer = make_optimizer(name, options_of(entry));
    std::vector<float> value = repeated(floats(golden["initial"]), copies);
    optimizer.add_parameter("w", static_cast<int64_t>(value.size()));
    for (size_t step = 0; step < golden["gradients"].size(); ++step) {
      optimizer.begin_step(entry["learning_rate"]);
      optimizer.update(0, value, repeated(floats(golden["gradients"][step]), copies));
      expect_close(entry["values"][step], value,
                   name + " " + entry["options"].dump() + ", step " + std::to_string(step));
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(OptimizerGolden, AFewElements) { expect_follows_golden(1); }

TEST(OptimizerGolden, ManyElementsOnSeveralThreads) { expect_follows_golden(20011); }

TEST(OptimizerGolden, SparseRowsFollowSparseAdamAndSgd) {
  const nlohmann::json golden = read_golden("optimizers.json");
  ASSERT_EQ(golden["sparse"].size(), 2U);
  for (const auto& entry : golden["sparse"]) {
    Optimizer optimizer = make_optimizer(entry["optimizer"]);
    std::vector<float> table = floats(entry["initial"]);
    optimizer.add_parameter("table", static_cast<int64_t>(table.size()));
    for (const auto& step : entry["steps"]) {
      optimizer.begin_step(entry["learning_rate"]);
      optimizer.update_rows(0, table, entry["row_size"], step["rows"].get<std::vector<int64_t>>(),
                            floats(step["gradients"]));
      expect_close(step["table"], table, entry["optimizer"]);
    }
  }
}

TEST(OptimizerGolden, ClippingByNormFollowsPyTorch) {
  const nlohmann::json golden = read_golden("optimizers.json");
  const std::vector<float> gradient = floats(golden["gradients"][0]);
  const double scale = norm_clip_scale(norm_squared(gradient), golden["clip"]["max_norm"]);
  EXPECT_LT(scale, 1.0);
  for (size_t i = 0; i < gradient.size(); ++i) {
    EXPECT_NEAR(gradient[i] * scale, golden["clip"]["clipped"][i].get<double>(), 1e-7);
  }
}

}  // namespace
}  // namespace thalweg::optim
