// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/attention_rows.h"

#include "runtime/kernels/simd/vmath.h"

namespace thalweg::simd::TW_SIMD_NS {
namespace {

constexpr int64_t kLanes = 16;
constexpr float kNothing = -3.0e38f;

/// Independent partial results let the compiler use vectors without changing the order of additions it was given.
float largest_of(const float* x, int64_t n) {
  float parts[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) parts[i] = -__builtin_inff();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) parts[j] = x[i + j] > parts[j] ? x[i + j] : parts[j];
  }
  float result = -__builtin_inff();
  for (; i < n; ++i) result = x[i] > result ? x[i] : result;
  for (int64_t j = 0; j < kLanes; ++j) result = parts[j] > result ? parts[j] : result;
  return result;
}

float sum_of(const float* x, int64_t n) {
  float parts[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) parts[j] += x[i + j];
  }
  float result = 0.0f;
  for (; i < n; ++i) result += x[i];
  for (int64_t j = 0; j < kLanes; ++j) result += parts[j];
  return result;
}

void scale_and_mask(float* scores, const float* mask, float scale, int64_t n) {
  if (mask == nullptr) {
    for (int64_t i = 0; i < n; ++i) scores[i] *= scale;
  } else {
    for (int64_t i = 0; i < n; ++i) scores[i] = scores[i] * scale + mask[i];
  }
}

/// e^(x - base); exactly zero where x is masked out, which fast_exp alone would only make small.
void exponentials(float* x, float base, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = x[i] < kNothing ? 0.0f : fast_exp(x[i] - base);
}

void zero(float* x, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) x[i] = 0.0f;
}

}  // namespace

void attention_softmax(float* scores, const float* mask, float scale, int64_t visible, int64_t n, float* log_sum) {
  scale_and_mask(scores, mask, scale, visible);
  const float largest = largest_of(scores, visible);
  if (largest < kNothing) {
    zero(scores, 0, n);
    *log_sum = -__builtin_inff();
    return;
  }
  exponentials(scores, largest, visible);
  zero(scores, visible, n);
  const float sum = sum_of(scores, visible);
  const float inverse = 1.0f / sum;
  for (int64_t i = 0; i < visible; ++i) scores[i] *= inverse;
  *log_sum = largest + std::log(sum);
}

void attention_probabilities(float* scores, const float* mask, float scale, int64_t visible, int64_t n, float log_sum) {
  if (log_sum < kNothing) {
    zero(scores, 0, n);
    return;
  }
  scale_and_mask(scores, mask, scale, visible);
  exponentials(scores, log_sum, visible);
  zero(scores, visible, n);
}

void attention_dscores(const float* __restrict p, float* __restrict dp, float delta, float scale, int64_t n) {
  for (int64_t i = 0; i < n; ++i) dp[i] = p[i] * (dp[i] - delta) * scale;
}

void dot_product(const float* x, const float* y, int64_t n, float* result) {
  float parts[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) parts[j] += x[i + j] * y[i + j];
  }
  float sum = 0.0f;
  for (; i < n; ++i) sum += x[i] * y[i];
  for (int64_t j = 0; j < kLanes; ++j) sum += parts[j];
  *result = sum;
}

}  // namespace thalweg::simd::TW_SIMD_NS
