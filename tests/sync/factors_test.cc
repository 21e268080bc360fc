// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Activations and errors in place of gradients.
#include "sync/compress/factors.h"

#include <gmock/gmock.h>

#include <cstring>

#include "support/error_text.h"
#include "sync/plain_trainee.h"
#include "sync/workers.h"

namespace thalweg::testing {
namespace {

using sync::Bytes;
using sync::FactorForm;
using sync::Factors;
using ::testing::HasSubstr;

std::vector<float> numbers(size_t count, uint64_t seed) {
  return floats(random_tensor(DType::kF32, {static_cast<int64_t>(count)}, seed, -1, 1));
}

Factors factors_of(size_t rows, size_t m, size_t n) {
  Factors result;
  result.append(numbers(rows * m, 1), numbers(rows * n, 2), rows, 1);
  return result;
}

/// By the definition.
std::vector<float> product_of(const Factors& factors, size_t m, size_t n) {
  std::vector<float> result(m * n);
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (size_t k = 0; k < factors.rows; ++k) {
        sum += static_cast<double>(factors.left[k * m + i]) * static_cast<double>(factors.right[k * n + j]);
      }
      result[i * n + j] = static_cast<float>(sum);
    }
  }
  return result;
}

FactorForm form_of(int64_t m, int64_t n) {
  FactorForm form;
  form.use({{"weight", static_cast<size_t>(m * n), Layout(TensorType{DType::kF32, {m, n}})}});
  return form;
}

TEST(Factors, AServerComputesItsPartOfTheGradientFromWhatItNeedsOfThem) {
  constexpr size_t kM = 40, kN = 50, kRows = 3;
  FactorForm form = form_of(kM, kN);
  const Factors factors = factors_of(kRows, kM, kN);
  const std::vector<float> expected = product_of(factors, kM, kN);
  form.give("weight", factors);
  Bytes code;
  form.encode_alone(0, std::vector<float>(kM * kN), code);
  EXPECT_EQ(code.size(), sizeof(uint64_t) + kRows * (kM + kN) * sizeof(float));
  // Parts that begin and end in the middle of a row, and one that is all of it.
  for (const comm::Part part : {comm::Part{0, 2000}, {0, 667}, {667, 1334}, {1334, 2000}, {120, 121}}) {
    Bytes message;
    form.append_part(0, code, part, message);
    std::vector<float> sum(part.size(), 1.0F);
    form.decode_part(0, message, part, kM * kN, sum);
    for (size_t i = 0; i < sum.size(); ++i) ASSERT_NEAR(sum[i], 1 + expected[part.begin + i], 1e-5) << i;
    const size_t rows = (part.end + kN - 1) / kN - part.begin / kN;
    EXPECT_EQ(message.size(), sizeof(uint64_t) + kRows * (rows + kN) * sizeof(float));
  }
}

TEST(Factors, OfManySamplesTheGradientTravels) {
  FactorForm form = form_of(6, 5);
  const Factors factors = factors_of(40, 6, 5);
  form.give("weight", factors);
  Bytes code, message;
  form.encode_alone(0, std::vector<float>(30), code);
  EXPECT_EQ(code.size(), sizeof(uint64_t) + 30 * sizeof(float));
  form.append_part(0, code, {7, 20}, message);
  std::vector<float> sum(13);
  form.decode_part(0, message, {7, 20}, 30, sum);
  const std::vector<float> expected = product_of(factors, 6, 5);
  for (size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(sum[i], expected[7 + i], 1e-5);
}

TEST(Factors, TheirNormIsThatOfTheProduct) {
  const Factors factors = factors_of(4, 30, 20);
  double squares = 0;
  for (const float value : product_of(factors, 30, 20))
    squares += static_cast<double>(value) * static_cast<double>(value);
  EXPECT_NEAR(factors.norm_squared(), squares, 1e-4 * squares);
}

TEST(Factors, WhatIsNoCodeIsRefused) {
  const FactorForm form = form_of(40, 50);
  std::vector<float> sum(2000);
  const auto refusal = [&](uint64_t rows, size_t floats) {
    Bytes code(sizeof rows + floats * sizeof(float));
    std::memcpy(code.data(), &rows, sizeof rows);
    return error_text([&] { form.decode_part(0, code, {0, 2000}, 2000, sum); });
  };
  EXPECT_THAT(refusal(0, 1999), HasSubstr("a gradient of 2000 elements has 7996 bytes"));
  EXPECT_THAT(refusal(3, 89), HasSubstr("activations and errors of 3 samples"));
  EXPECT_THAT(refusal(uint64_t{1} << 61U, 90), HasSubstr("activations and errors of"));
  EXPECT_THAT(refusal(2, 3000), HasSubstr("the code of a gradient has"));
  EXPECT_THAT(error_text([&] { form.decode_part(0, Bytes(3), {0, 2000}, 2000, sum); }), HasSubstr("3 bytes"));
}

/// Layers that are much wider than a share of a batch has samples.
std::unique_ptr<Graph> wide_layers() {
  auto graph = std::make_unique<Graph>("wide");
  const auto parameter = [&](const std::string& name, const Shape& shape, uint64_t seed) {
    return graph->parameter(name, random_tensor(DType::kF32, shape, seed, -0.1, 0.1));
  };
  Value* x = graph->input("x", {DType::kF32, {kFree, 12}});
  Value* h = ops::relu(ops::linear(x, parameter("first.weight", {300, 12}, 1), parameter("first.bias", {300}, 2)));
  h = ops::relu(ops::linear(h, parameter("second.weight", {200, 300}, 3), parameter("second.bias", {200}, 4)));
  graph->mark_output(ops::linear(h, parameter("third.weight", {3, 200}, 5)));
  return graph;
}

struct Result {
  std::vector<NamedTensor> weights;
  double sent_bytes = 0;
};

/// Of each of so many workers, over TCP, where every byte is counted once.
std::vector<Result> train(int workers, const sync::SchemeOptions& scheme, double clip_norm = 0) {
  const comm::Rendezvous rendezvous(quiet_rendezvous(workers, workers));
  const data::TensorDataset data = two_layers_data(64);
  std::vector<std::future<Result>> pending;
  for (int i = 0; i < workers; ++i) {
    pending.push_back(std::async(std::launch::async, [&] {
      Model model(wide_layers());
      TrainOptions own = group_train_options();
      own.batch_size = 16;
      own.clip_norm = clip_norm;
      const std::shared_ptr<comm::Group> group = comm::Group::join(member_of(rendezvous.address(), comm::Path::kTcp));
      own.scheme = sync::make_scheme(scheme, group);
      Trainer(model, squared_error(), optim::sgd({.momentum = 0.9}), own).fit(data);
      return Result{weights_of(model), static_cast<double>(group->communicator().traffic().sent_bytes)};
    }));
  }
  std::vector<Result> results;
  for (auto& entry : pending) results.push_back(entry.get());
  return results;
}

TEST(ProjectAdam, HasTheWeightsThatSendingGradientsGives) {
  const std::map<std::string, double> in_steps = {{"staleness", 0}, {"copies", 0}};
  for (const int workers : {1, 2, 4}) {
    for (const double clip_norm : {0.0, 0.05}) {
      const auto factors = train(workers, {.name = "project-adam", .options = in_steps}, clip_norm);
      const auto gradients = train(workers, {.name = "ssp"}, clip_norm);
      for (const Result& result : factors) EXPECT_LT(difference(result.weights, gradients[0].weights), 1e-5);
    }
  }
}

TEST(ProjectAdam, SendsActivationsAndErrorsInPlaceOfGradients) {
  const auto factors = train(2, {.name = "project-adam", .options = {{"staleness", 0}, {"copies", 0}}});
  const auto gradients = train(2, {.name = "ssp"});
  // 12 steps, in each of which a worker sends the other one half of the gradients, and half of the weights.
  constexpr double kSteps = 12, kSecond = 200 * 300, kSamples = 8;
  const double saved = kSteps * sizeof(float) * (kSecond / 2 - kSamples * (300 + 200.0 / 2));
  for (size_t i = 0; i < 2; ++i) EXPECT_GT(gradients[i].sent_bytes - factors[i].sent_bytes, 0.8 * saved);
}

TEST(ProjectAdam, TakesNoCompression) {
  EXPECT_THAT(error_text([] { sync::check_scheme({.name = "project-adam", .compression = "topk"}); }),
              HasSubstr("compression topk does not go with the scheme project-adam, which sends no gradients"));
}

}  // namespace
}  // namespace thalweg::testing
