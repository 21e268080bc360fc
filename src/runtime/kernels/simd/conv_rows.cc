// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/conv_rows.h"

#include "runtime/kernels/simd/panel_store.h"

namespace thalweg::simd::TW_SIMD_NS {
namespace {

template <int pixels, int vectors>
void convolve_pixels(const ConvRow& row, int64_t first, const StorePixels& finish) {
  Sums<pixels, vectors> sums;
  sums.clear();
  finish.prepare<pixels, vectors>(first);
  const float* source = row.source + first * row.pixel_stride;
  const float* right = row.right;
  for (int64_t tap = 0; tap < row.taps; ++tap, right += kPanelFloats) {
    sums.add(source + row.offsets[tap], row.pixel_stride, right);
  }
  finish.store(sums, first);
}

template <int vectors>
void convolve_row(const ConvRow& row) {
  constexpr int most = kSums / vectors;
  const StorePixels finish(row.after, row.result, row.result_stride);
  int64_t first = 0;
  for (; first + most <= row.pixels; first += most) convolve_pixels<most, vectors>(row, first, finish);
  for (; first + 4 <= row.pixels; first += 4) convolve_pixels<4, vectors>(row, first, finish);
  for (; first < row.pixels; ++first) convolve_pixels<1, vectors>(row, first, finish);
}

}  // namespace

void conv_row(const ConvRow& row) {
  with_vectors(row.vectors, [&](auto vectors) { convolve_row<vectors>(row); });
}

}  // namespace thalweg::simd::TW_SIMD_NS
