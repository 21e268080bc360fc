// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/rnn_cell.h"

#include "runtime/kernels/simd/vmath.h"

namespace thalweg::simd::TW_SIMD_NS {

void lstm_cell(float* __restrict gates, const float* __restrict hid, float* __restrict c, float* __restrict h,
               int64_t n, int64_t stride) {
  float* __restrict gi = gates;
  float* __restrict gf = gates + stride;
  float* __restrict gg = gates + 2 * stride;
  float* __restrict go = gates + 3 * stride;
  for (int64_t j = 0; j < n; ++j) {
    const float i = fast_sigmoid(gi[j] + hid[j]);
    const float f = fast_sigmoid(gf[j] + hid[stride + j]);
    const float g = fast_tanh(gg[j] + hid[2 * stride + j]);
    const float o = fast_sigmoid(go[j] + hid[3 * stride + j]);
    const float cell = f * c[j] + i * g;
    gi[j] = i;
    gf[j] = f;
    gg[j] = g;
    go[j] = o;
    c[j] = cell;
    h[j] = o * fast_tanh(cell);
  }
}

void gru_cell(float* __restrict gates, const float* __restrict hid, const float* __restrict bias,
              float* __restrict inner, float* __restrict h, int64_t n, int64_t stride) {
  float* __restrict gr = gates;
  float* __restrict gz = gates + stride;
  float* __restrict gn = gates + 2 * stride;
  const float* __restrict hn = hid + 2 * stride;
  for (int64_t j = 0; j < n; ++j) inner[j] = bias != nullptr ? hn[j] + bias[j] : hn[j];
  for (int64_t j = 0; j < n; ++j) {
    const float r = fast_sigmoid(gr[j] + hid[j]);
    const float z = fast_sigmoid(gz[j] + hid[stride + j]);
    const float candidate = fast_tanh(gn[j] + r * inner[j]);
    gr[j] = r;
    gz[j] = z;
    gn[j] = candidate;
    h[j] = (1.0f - z) * candidate + z * h[j];
  }
}

void rnn_cell(float* __restrict gates, const float* __restrict hid, float* __restrict h, int64_t n, bool relu) {
  if (relu) {
    for (int64_t j = 0; j < n; ++j) {
      const float sum = gates[j] + hid[j];
      gates[j] = h[j] = sum > 0.0f ? sum : 0.0f;
    }
    return;
  }
  for (int64_t j = 0; j < n; ++j) gates[j] = h[j] = fast_tanh(gates[j] + hid[j]);
}

void lstm_cell_grad(const float* __restrict gates, const float* __restrict c, const float* __restrict c_before,
                    const float* __restrict dh, float* __restrict dc, float* __restrict dgates, int64_t n) {
  float* __restrict di = dgates;
  float* __restrict df = dgates + n;
  float* __restrict dg = dgates + 2 * n;
  float* __restrict dout = dgates + 3 * n;
  for (int64_t j = 0; j < n; ++j) {
    const float i = gates[j], f = gates[n + j], g = gates[2 * n + j], o = gates[3 * n + j];
    const float t = fast_tanh(c[j]);
    const float cell = dc[j] + dh[j] * o * (1.0f - t * t);
    di[j] = cell * g * i * (1.0f - i);
    df[j] = cell * c_before[j] * f * (1.0f - f);
    dg[j] = cell * i * (1.0f - g * g);
    dout[j] = dh[j] * t * o * (1.0f - o);
    dc[j] = cell * f;
  }
}

void gru_cell_grad(const float* __restrict gates, const float* __restrict inner, const float* __restrict h_before,
                   float* __restrict dh, float* __restrict dgates, float* __restrict dhid, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    const float r = gates[j], z = gates[n + j], candidate = gates[2 * n + j];
    const float dn = dh[j] * (1.0f - z) * (1.0f - candidate * candidate);
    const float dr = dn * inner[j] * r * (1.0f - r);
    const float dz = dh[j] * (h_before[j] - candidate) * z * (1.0f - z);
    dgates[j] = dhid[j] = dr;
    dgates[n + j] = dhid[n + j] = dz;
    dgates[2 * n + j] = dn;
    dhid[2 * n + j] = dn * r;
    dh[j] *= z;
  }
}

void rnn_cell_grad(const float* __restrict gates, const float* __restrict dh, float* __restrict dgates, int64_t n,
                   bool relu) {
  if (relu) {
    for (int64_t j = 0; j < n; ++j) dgates[j] = gates[j] > 0.0f ? dh[j] : 0.0f;
    return;
  }
  for (int64_t j = 0; j < n; ++j) dgates[j] = dh[j] * (1.0f - gates[j] * gates[j]);
}

}  // namespace thalweg::simd::TW_SIMD_NS
