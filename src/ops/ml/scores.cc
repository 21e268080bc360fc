// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "ops/ml/scores.h"

#include <algorithm>
#include <cmath>

#include "thalweg/stored_types.h"

namespace thalweg::ml {

Labels::Labels(const HostContext& call, const char* integers)
    : texts_(call.attrs().texts("classlabels_strings")), integers_(call.integers(integers)) {}

Tensor Labels::of(const std::vector<int64_t>& classes) const {
  const Shape shape{static_cast<int64_t>(classes.size())};
  for (const int64_t number : classes) {
    TW_REQUIRE(number >= 0 && (size() == 0 || static_cast<size_t>(number) < size()), "class ", number, " of ", size(),
               " has no name");
  }
  if (!texts_.empty()) {
    std::vector<std::string> names;
    for (const int64_t number : classes) names.push_back(texts_[static_cast<size_t>(number)]);
    return stored::texts(shape, std::move(names));
  }
  std::vector<int64_t> names = classes;
  if (!integers_.empty()) {
    for (int64_t& name : names) name = integers_[static_cast<size_t>(name)];
  }
  return Tensor::from<int64_t>(shape, names);
}

Transform transform_of(const HostContext& call) {
  const std::string name = call.text("post_transform", "NONE");
  const char* const known[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const auto* found = std::find(std::begin(known), std::end(known), name);
  TW_REQUIRE(found != std::end(known), "unknown post_transform '", name, "'");
  return static_cast<Transform>(found - std::begin(known));
}

Transform transform_from(int64_t number) {
  TW_REQUIRE(number >= 0 && number <= static_cast<int64_t>(Transform::kProbit), "unknown post_transform ", number);
  return static_cast<Transform>(number);
}

std::vector<float> floats(const HostContext& call, const std::string& name) {
  const std::vector<double> listed = call.attrs().reals(name);
  return {listed.begin(), listed.end()};
}

float product(const float* a, const float* b, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return static_cast<float>(sum);
}

float logistic(float x) {
  const float power = std::exp(-std::fabs(x));
  return x >= 0 ? 1 / (1 + power) : power / (1 + power);
}

namespace {

/// The inverse of the normal distribution's error function, by Winitzki's approximation, which ONNX Runtime uses too.
float probit(float x) {
  const float p = 2 * x - 1;
  const float sign = p < 0 ? -1.0F : 1.0F;
  const float log = std::log((1 - p) * (1 + p));
  constexpr float kPi = 3.14159274F, kA = 0.147F;
  const float v = 2 / (kPi * kA) + 0.5F * log;
  return std::sqrt(2.0F) * sign * std::sqrt(-v + std::sqrt(v * v - log / kA));
}

void softmax(std::vector<float>& scores, bool keep_zeros) {
  const float most = scores.empty() ? 0.0F : *std::max_element(scores.begin(), scores.end());
  float sum = 0;
  const auto stays = [&](float score) { return keep_zeros && std::fabs(score) < 1e-7F; };
  for (float& score : scores) {
    // Zeros stay zeros.
    score = stays(score) ? score * std::exp(-most) : std::exp(score - most);
    sum += score;
  }
  for (float& score : scores) score = sum > 0 ? score / sum : score;
}

}  // namespace

void apply(Transform transform, std::vector<float>& scores) {
  switch (transform) {
    case Transform::kNone: return;
    case Transform::kSoftmax: return softmax(scores, false);
    case Transform::kSoftmaxZero: return softmax(scores, true);
    case Transform::kLogistic: std::transform(scores.begin(), scores.end(), scores.begin(), logistic); return;
    case Transform::kProbit: std::transform(scores.begin(), scores.end(), scores.begin(), probit); return;
  }
}

Rows rows_of(const Tensor& x) {
  const int rank = x.shape().rank();
  TW_REQUIRE(rank == 1 || rank == 2, "features must have shape [N, C] or [C], not ", x.shape());
  return {x.to(DType::kF32), rank == 1 ? 1 : x.shape()[0], x.shape()[-1]};
}

int64_t largest(const std::vector<float>& scores) {
  return std::max_element(scores.begin(), scores.end()) - scores.begin();
}

Tensor stacked(const std::vector<std::vector<float>>& rows, int64_t width) {
  Tensor result(DType::kF32, {static_cast<int64_t>(rows.size()), width});
  for (size_t i = 0; i < rows.size(); ++i) {
    TW_REQUIRE(static_cast<int64_t>(rows[i].size()) == width, "a row has ", rows[i].size(), " scores, not ", width);
    std::copy(rows[i].begin(), rows[i].end(), result.data<float>() + static_cast<int64_t>(i) * width);
  }
  return result;
}

}  // namespace thalweg::ml
