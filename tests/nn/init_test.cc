// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/nn/init.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "nn/init/inverse_normal.h"
#include "thalweg/nn/scope.h"

namespace thalweg::testing {
namespace {

namespace init = nn::init;

struct Moments {
  double mean = 0.0;
  double stddev = 0.0;
  double low = 1e30;
  double high = -1e30;
};

Moments moments(const Tensor& tensor) {
  Moments m;
  const auto n = static_cast<double>(tensor.num_elements());
  double squares = 0.0;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    const double x = tensor.data<float>()[i];
    m.mean += x / n;
    squares += x * x / n;
    m.low = std::min(m.low, x);
    m.high = std::max(m.high, x);
  }
  m.stddev = std::sqrt(squares - m.mean * m.mean);
  return m;
}

TEST(Init, DistributionsHaveTheirMoments) {
  const Shape shape{400, 250};
  const Moments uniform = moments(init::uniform(-2.0, 4.0)(shape, 1));
  EXPECT_NEAR(uniform.mean, 1.0, 0.03);
  EXPECT_NEAR(uniform.stddev, std::sqrt(3.0), 0.03);
  EXPECT_GE(uniform.low, -2.0);
  EXPECT_LT(uniform.high, 4.0);
  const Moments normal = moments(init::normal(1.0, 2.0)(shape, 1));
  EXPECT_NEAR(normal.mean, 1.0, 0.03);
  EXPECT_NEAR(normal.stddev, 2.0, 0.03);
  const Moments cut = moments(init::truncated_normal(0.0, 1.0)(shape, 1));
  EXPECT_NEAR(cut.stddev, 0.8796, 0.01);
  EXPECT_GE(cut.low, -2.0);
  EXPECT_LE(cut.high, 2.0);
}

TEST(Init, FansCountConnections) {
  const Shape conv{64, 32, 3, 3};
  EXPECT_EQ(init::fan_in(conv), 288);
  EXPECT_EQ(init::fan_out(conv), 576);
  EXPECT_NEAR(moments(init::kaiming_normal()(conv, 1)).stddev, std::sqrt(2.0 / 288), 1e-3);
  EXPECT_NEAR(moments(init::kaiming_normal(0.0, init::Fan::kOut)(conv, 1)).stddev, std::sqrt(2.0 / 576), 1e-3);
  EXPECT_NEAR(moments(init::xavier_normal()(conv, 1)).stddev, std::sqrt(2.0 / 864), 1e-3);
  EXPECT_NEAR(moments(init::kaiming_uniform(std::sqrt(5.0))(conv, 1)).high, 1.0 / std::sqrt(288.0), 1e-4);
  EXPECT_NEAR(moments(init::xavier_uniform()(conv, 1)).high, std::sqrt(6.0 / 864), 1e-4);
  EXPECT_THROW(init::xavier_normal()({5}, 1), Error);
}

TEST(Init, SameKeySameBitsWhateverTheSize) {
  const Tensor large = init::normal()({100000}, 7);
  const Tensor small = init::normal()({1000}, 7);
  EXPECT_EQ(std::memcmp(large.raw(), small.raw(), small.num_bytes()), 0);
  const Tensor other = init::normal()({1000}, 8);
  EXPECT_NE(std::memcmp(other.raw(), small.raw(), small.num_bytes()), 0);
}

TEST(Init, ParametersDependOnSeedAndName) {
  const auto first = [](uint64_t seed, const char* path) {
    Graph graph;
    const nn::Scope scope = nn::Scope(graph, seed).sub(path);
    return scope.parameter("weight", {2, 2}, init::normal())->data().clone().data<float>()[0];
  };
  EXPECT_EQ(first(1, "a"), first(1, "a"));
  EXPECT_NE(first(1, "a"), first(2, "a"));
  EXPECT_NE(first(1, "a"), first(1, "b"));
}

TEST(Init, BilinearInterpolates) {
  const Tensor weights = init::bilinear()({1, 1, 4, 4}, 0);
  const float row[] = {0.0625F, 0.1875F, 0.1875F, 0.0625F};
  for (int i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(weights.data<float>()[i], row[i]);
}

TEST(Init, InverseNormalInvertsTheDistribution) {
  for (double x : {-5.0, -2.5, -1.0, 0.0, 0.3, 2.1, 4.0}) {
    EXPECT_NEAR(init::inverse_normal_cdf(init::normal_cdf(x)), x, 1e-7);
  }
}

}  // namespace
}  // namespace thalweg::testing
