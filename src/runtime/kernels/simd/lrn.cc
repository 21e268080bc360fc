// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The channels of one position are gathered side by side, with zeros on both ends, so that the sums over a window are
// plain vector loops whatever the blocking.
#include "runtime/kernels/simd/lrn.h"

#include "runtime/kernels/simd/vmath.h"

namespace thalweg::simd::TW_SIMD_NS {
namespace {

float widen(float value) { return value; }
float widen(uint16_t value) { return bf16_to_float(value); }
void narrow(float value, float* to) { *to = value; }
void narrow(float value, uint16_t* to) { *to = float_to_bf16(value); }

int64_t channels_of(const LrnJob& job) { return job.blocks * job.block; }

int64_t offset_of(const LrnJob& job, int64_t pixel, int64_t block) {
  return ((pixel / job.spatial * job.blocks + block) * job.spatial + pixel % job.spatial) * job.block;
}

template <typename T>
void gather(const LrnJob& job, const T* from, int64_t pixel, float* to) {
  for (int64_t b = 0; b < job.blocks; ++b) {
    const T* part = from + offset_of(job, pixel, b);
    for (int64_t c = 0; c < job.block; ++c) to[b * job.block + c] = widen(part[c]);
  }
}

template <typename T>
void scatter(const LrnJob& job, const float* from, int64_t pixel, T* to) {
  for (int64_t b = 0; b < job.blocks; ++b) {
    T* part = to + offset_of(job, pixel, b);
    for (int64_t c = 0; c < job.block; ++c) narrow(from[b * job.block + c], part + c);
  }
}

/// to[c] = start + factor * sum of from[c] ... from[c + width - 1].
void window_sum(const float* from, int64_t width, int64_t count, float start, float factor, float* to) {
  if (width == 5) {
    for (int64_t c = 0; c < count; ++c) {
      to[c] = start + factor * (((from[c] + from[c + 1]) + (from[c + 2] + from[c + 3])) + from[c + 4]);
    }
    return;
  }
  for (int64_t c = 0; c < count; ++c) to[c] = start;
  for (int64_t k = 0; k < width; ++k) {
    for (int64_t c = 0; c < count; ++c) to[c] += factor * from[c + k];
  }
}

/// power[c] = scale[c]^-beta.
void powers(const float* scale, int64_t count, float beta, float* power) {
  if (beta == 0.75f) {
    for (int64_t c = 0; c < count; ++c) {
      const float root = __builtin_sqrtf(scale[c]);
      power[c] = 1.0f / (root * __builtin_sqrtf(root));
    }
  } else if (beta == 0.5f) {
    for (int64_t c = 0; c < count; ++c) power[c] = 1.0f / __builtin_sqrtf(scale[c]);
  } else {
    for (int64_t c = 0; c < count; ++c) power[c] = __builtin_powf(scale[c], -beta);
  }
}

/// Squares of x with zeros on both ends, then scale and power of each channel.
void scales_of(const LrnJob& job, const float* x, float* padded, float* scale, float* power) {
  const int64_t channels = channels_of(job);
  for (int64_t c = 0; c < channels; ++c) padded[job.before + c] = x[c] * x[c];
  window_sum(padded, job.before + job.after + 1, channels, job.bias, job.alpha, scale);
  powers(scale, channels, job.beta, power);
}

void zero(float* buffer, int64_t count) {
  for (int64_t i = 0; i < count; ++i) buffer[i] = 0.0f;
}

template <typename T>
void forward(const LrnJob& job, int64_t begin, int64_t end, float* scratch) {
  const int64_t channels = channels_of(job);
  const int64_t row = lrn_scratch(job) / 5;
  float *x = scratch, *padded = x + row, *scale = padded + row, *power = scale + row;
  zero(padded, row);
  for (int64_t pixel = begin; pixel < end; ++pixel) {
    gather(job, static_cast<const T*>(job.x), pixel, x);
    scales_of(job, x, padded, scale, power);
    for (int64_t c = 0; c < channels; ++c) x[c] *= power[c];
    scatter(job, x, pixel, static_cast<T*>(job.out));
  }
}

template <typename T>
void backward(const LrnJob& job, int64_t begin, int64_t end, float* scratch) {
  const int64_t channels = channels_of(job);
  const int64_t row = lrn_scratch(job) / 5;
  float *x = scratch, *padded = x + row, *scale = padded + row, *power = scale + row, *dy = power + row;
  for (int64_t pixel = begin; pixel < end; ++pixel) {
    gather(job, static_cast<const T*>(job.x), pixel, x);
    gather(job, static_cast<const T*>(job.dy), pixel, dy);
    zero(padded, row);
    scales_of(job, x, padded, scale, power);
    // The windows that hold a channel reach from `after` before it to `before` after it.
    zero(padded, row);
    for (int64_t c = 0; c < channels; ++c) {
      padded[job.after + c] = dy[c] * x[c] * power[c] / scale[c];
      dy[c] *= power[c];
    }
    window_sum(padded, job.before + job.after + 1, channels, 0.0f, 2.0f * job.alpha * job.beta, scale);
    for (int64_t c = 0; c < channels; ++c) dy[c] -= x[c] * scale[c];
    scatter(job, dy, pixel, static_cast<T*>(job.out));
  }
}

}  // namespace

void lrn_pixels(const LrnJob& job, int64_t begin, int64_t end, float* scratch) {
  job.bf16 ? forward<uint16_t>(job, begin, end, scratch) : forward<float>(job, begin, end, scratch);
}

void lrn_grad_pixels(const LrnJob& job, int64_t begin, int64_t end, float* scratch) {
  job.bf16 ? backward<uint16_t>(job, begin, end, scratch) : backward<float>(job, begin, end, scratch);
}

}  // namespace thalweg::simd::TW_SIMD_NS
