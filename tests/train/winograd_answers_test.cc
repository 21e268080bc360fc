// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Trained networks answer the same with Winograd's convolution as without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "runtime/kernels/simd/dispatch.h"
#include "thalweg/data.h"
#include "thalweg/losses.h"
#include "thalweg/nn.h"
#include "thalweg/train.h"
#include "thalweg/zoo.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kTrained = 3000, kAsked = 1000;

/// The first digits of a set, each as `channels` equal pictures.
data::Batch digits(const data::TensorDataset& all, int64_t count, int64_t channels) {
  std::vector<int64_t> indices(static_cast<size_t>(count));
  std::iota(indices.begin(), indices.end(), 0);
  data::Batch batch = all.fetch(indices);
  const Tensor gray = batch.inputs[0];
  const int64_t pixels = gray.shape()[2] * gray.shape()[3];
  Tensor pictures(DType::kF32, {count, channels, gray.shape()[2], gray.shape()[3]});
  for (int64_t i = 0; i < count * channels; ++i) {
    std::copy_n(gray.data<float>() + i / channels * pixels, pixels, pictures.data<float>() + i * pixels);
  }
  batch.inputs[0] = pictures;
  return batch;
}

std::unique_ptr<Graph> small_network() {
  auto graph = std::make_unique<Graph>("digits");
  Value* x = graph->input("x", {DType::kF32, {kFree, 1, 28, 28}});
  const auto conv = [](int64_t in, int64_t out) { return nn::Conv2d(in, out, 3, {.padding = {1, 1}}); };
  const nn::Sequential net{conv(1, 32),  nn::ReLU(), conv(32, 64),     nn::ReLU(),    nn::MaxPool2d(2),
                           conv(64, 64), nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(), nn::Linear(64 * 49, 10)};
  graph->mark_output(net.forward(nn::Scope(*graph), x));
  return graph;
}

std::vector<int64_t> answers(const Tensor& scores) {
  std::vector<int64_t> result;
  const int64_t classes = scores.shape()[1];
  for (int64_t row = 0; row < scores.shape()[0]; ++row) {
    const float* x = scores.data<float>() + row * classes;
    result.push_back(std::max_element(x, x + classes) - x);
  }
  return result;
}

class WinogradAnswers : public ::testing::TestWithParam<const char*> {};

TEST_P(WinogradAnswers, StayTheSame) {
  const char* deps = std::getenv("THALWEG_DEPS");
  const std::string directory = std::string(deps != nullptr ? deps : ".") + "/mnist";
  if (!std::filesystem::exists(directory)) GTEST_SKIP() << "no digits in " << directory;
  const bool residual = std::string(GetParam()) == "resnet18";
  const data::Mnist mnist = data::read_mnist(directory);
  const data::Batch train = digits(mnist.train, kTrained, residual ? 3 : 1);
  const data::Batch test = digits(mnist.test, kAsked, residual ? 3 : 1);

  zoo::ImageOptions image;
  image.classes = 10;
  image.image_size = 28;
  image.width = 2;
  Model model(residual ? zoo::resnet(18, image) : small_network());
  Trainer trainer(model, losses::cross_entropy, optim::adam(),
                  {.epochs = 2, .batch_size = 64, .learning_rate = 1e-3, .progress = ShowProgress::kNone});
  trainer.fit(data::TensorDataset(train.inputs, train.targets));

  model.set_options({.math = Math::kStrict});
  EXPECT_THAT(model.explain(test.inputs), Not(HasSubstr("native winograd")));
  const std::vector<int64_t> direct = answers(model.predict(test.inputs)[0]);
  model.set_options({.math = Math::kFast});
  if (simd::best_isa() != simd::Isa::kBaseline) {
    EXPECT_THAT(model.explain(test.inputs), HasSubstr("native winograd"));
  }
  EXPECT_EQ(answers(model.predict(test.inputs)[0]), direct);

  int64_t right = 0;
  for (size_t i = 0; i < direct.size(); ++i) right += direct[i] == test.targets[0].data<int64_t>()[i] ? 1 : 0;
  EXPECT_GT(right, kAsked * 8 / 10) << "it has learnt too little for its answers to mean anything";
}

INSTANTIATE_TEST_SUITE_P(Trained, WinogradAnswers, ::testing::Values("digits", "resnet18"));

}  // namespace
}  // namespace thalweg::testing
