// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "model/classification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/error_text.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using testing::error_text;
using ::testing::FloatNear;
using ::testing::HasSubstr;

Tensor values(const Shape& shape, const std::vector<float>& elements) {
  Tensor tensor(DType::kF32, shape);
  std::copy(elements.begin(), elements.end(), tensor.data<float>());
  return tensor;
}

std::vector<float> probabilities(const Classification& found) {
  const float* first = found.probabilities.data<float>();
  return {first, first + found.probabilities.num_elements()};
}

std::vector<int64_t> classes(const Classification& found) {
  const int64_t* first = found.classes.data<int64_t>();
  return {first, first + found.classes.num_elements()};
}

TEST(Classification, ScoresBecomeProbabilities) {
  const Classification found = classify(values({2, 3}, {1000, 1000, 1000, 0, std::log(3.0F), 0}), "Gemm");
  const auto near = [](float value) { return FloatNear(value, 1e-6F); };
  EXPECT_THAT(probabilities(found),
              ElementsAre(near(1 / 3.0F), near(1 / 3.0F), near(1 / 3.0F), near(0.2F), near(0.6F), near(0.2F)));
  EXPECT_EQ(classes(found)[1], 1);
  EXPECT_THAT(probabilities(classify(values({1, 2}, {std::log(0.25F), std::log(0.75F)}), "LogSoftmax")),
              ElementsAre(near(0.25F), near(0.75F)));
}

TEST(Classification, ProbabilitiesStayAsTheyAre) {
  const Classification found = classify(values({1, 3}, {0.5F, 0.25F, 0.25F}), "softmax");
  EXPECT_THAT(probabilities(found), ElementsAre(0.5F, 0.25F, 0.25F));
  EXPECT_THAT(classes(found), ElementsAre(0));
}

TEST(Classification, OneElementSpeaksForTheSecondOfTwoClasses) {
  EXPECT_THAT(classes(classify(values({3, 1}, {-2, 2, 0.4F}), "Gemm")), ElementsAre(0, 1, 1));
  EXPECT_THAT(probabilities(classify(values({2}, {0.25F, 0.75F}), "sigmoid")), ElementsAre(0.75F, 0.25F, 0.25F, 0.75F));
}

TEST(Classification, RefusesOtherShapes) {
  EXPECT_THAT(error_text([] { classify(Tensor(DType::kF32, {1, 2, 2}), ""); }), HasSubstr("f32[1,2,2]"));
  EXPECT_THAT(error_text([] { classify(Tensor(DType::kF32, {1, 0}), ""); }), HasSubstr("no classes"));
}

}  // namespace
}  // namespace thalweg
