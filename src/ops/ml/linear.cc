// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// LinearRegressor and LinearClassifier.
#include "base/limits.h"
#include "ops/ml/scores.h"

namespace thalweg {
namespace {

using ml::Transform;

/// One linear function of the features for each result.
std::vector<std::vector<float>> linear_scores(const HostContext& call, const ml::Rows& x, size_t results) {
  const std::vector<float> factors = ml::floats(call, "coefficients"), shifts = ml::floats(call, "intercepts");
  TW_REQUIRE(factors.size() == results * static_cast<size_t>(x.width), "there are ", factors.size(),
             " coefficients for ", results, " functions of ", x.width, " features");
  TW_REQUIRE(shifts.empty() || shifts.size() == results, "there are ", shifts.size(), " intercepts for ", results,
             " functions");
  std::vector<std::vector<float>> rows;
  for (int64_t i = 0; i < x.count; ++i) {
    require_time();
    std::vector<float> scores(results);
    for (size_t k = 0; k < results; ++k) {
      const float shift = shifts.empty() ? 0.0F : shifts[k];
      scores[k] = shift + ml::product(x.row(i), factors.data() + static_cast<int64_t>(k) * x.width, x.width);
    }
    rows.push_back(std::move(scores));
  }
  return rows;
}

std::vector<Tensor> linear_regressor(const HostContext& call) {
  const ml::Rows x = ml::rows_of(call.input(0));
  const int64_t targets = call.integer("targets", 1);
  TW_REQUIRE(targets > 0 && targets <= 1 << 20, "there are ", targets, " targets");
  std::vector<std::vector<float>> rows = linear_scores(call, x, static_cast<size_t>(targets));
  const Transform transform = ml::transform_of(call);
  for (std::vector<float>& scores : rows) ml::apply(transform, scores);
  return {ml::stacked(rows, targets)};
}

/// One function for two classes is the score of the second; that of the first follows from it.
std::vector<Tensor> linear_classifier(const HostContext& call) {
  const ml::Rows x = ml::rows_of(call.input(0));
  const ml::Labels labels(call, "classlabels_ints");
  const size_t given = ml::floats(call, "intercepts").size();
  const size_t functions = given > 0 ? given : labels.size();
  TW_REQUIRE(
      functions > 0 && (labels.size() == functions || (labels.size() == 2 && functions == 1) || labels.size() == 0),
      "there are ", functions, " functions for ", labels.size(), " classes");
  std::vector<std::vector<float>> rows = linear_scores(call, x, functions);
  const Transform transform = ml::transform_of(call);
  std::vector<int64_t> winners;
  for (std::vector<float>& scores : rows) {
    if (functions == 1) {
      const float score = scores[0];
      winners.push_back(score > 0 ? 1 : 0);
      scores = {-score, score};
      if (transform == Transform::kLogistic) {
        scores = {1 - ml::logistic(score), ml::logistic(score)};
        continue;
      }
    } else {
      winners.push_back(ml::largest(scores));
    }
    ml::apply(transform, scores);
  }
  return {labels.of(winners), ml::stacked(rows, functions == 1 ? 2 : static_cast<int64_t>(functions))};
}

const RegisterHost kLinearRegressor("ai.onnx.ml.LinearRegressor", linear_regressor);
const RegisterHost kLinearClassifier("ai.onnx.ml.LinearClassifier", linear_classifier);

}  // namespace
}  // namespace thalweg
