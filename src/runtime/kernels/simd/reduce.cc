// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/reduce.h"

#include "runtime/kernels/simd/channel_rows.h"

namespace thalweg::simd::TW_SIMD_NS {
namespace {

template <typename T>
struct SumBody {
  const T* x;
  ColumnSums* sums;

  template <typename V>
  void column(int64_t at, int64_t rows, int64_t stride, int64_t c) const {
    // Four sums at a time: one alone would wait for its own last addition.
    float* sum = sums->a + (c - sums->first);
    V s0 = load<V>(sum), s1{}, s2{}, s3{};
    const T* from = x + at;
    for (; rows >= 4; rows -= 4, from += 4 * stride) {
      s0 += load<V>(from);
      s1 += load<V>(from + stride);
      s2 += load<V>(from + 2 * stride);
      s3 += load<V>(from + 3 * stride);
    }
    for (; rows > 0; --rows, from += stride) s0 += load<V>(from);
    store(sum, (s0 + s1) + (s2 + s3));
  }
};

template <typename T>
void sums_of(const ChannelRows& piece, const void* x, double* sum) {
  const Grid grid = grid_of(piece);
  ColumnSums sums;
  walk_summing(grid, piece, sums, SumBody<T>{static_cast<const T*>(x), &sums}, sum, nullptr);
}

template <bool largest, typename V>
inline V extreme(V best, V x) {
  if constexpr (largest) return ((x > best) | (x != x)) ? x : best;
  return ((x < best) | (x != x)) ? x : best;
}

template <bool largest>
struct ExtremeBody {
  const Extremes& of;
  float* result;

  template <typename V>
  void part(int64_t i) {
    V best = load<V>(result + i);
    const float* from = of.x + i;
    for (int64_t row = 0; row < of.rows; ++row, from += of.stride) best = extreme<largest>(best, load<V>(from));
    store(result + i, best);
  }
};

template <bool largest>
void extreme_of_line(const float* x, int64_t count, float* result) {
  int64_t i = 0;
  float best = *result;
  if (count >= kLanes) {
    Vec wide = load<Vec>(x);
    for (i = kLanes; i + kLanes <= count; i += kLanes) wide = extreme<largest>(wide, load<Vec>(x + i));
    for (int lane = 0; lane < kLanes; ++lane) best = extreme<largest>(best, wide[lane]);
  }
  for (; i < count; ++i) best = extreme<largest>(best, x[i]);
  *result = best;
}

template <bool largest>
void extremes_of(const Extremes& of, float* result) {
  if (of.width == 1 && of.stride == 1) return extreme_of_line<largest>(of.x, of.rows, result);
  ExtremeBody<largest> body{of, result};
  each_part(of.width, body);
}

template <Fold fold, typename V>
inline V folded(V so_far, V x, V largest) {
  if constexpr (fold == Fold::kProduct) return so_far * x;
  if constexpr (fold == Fold::kAbsolutes) return so_far + (x < 0.0f ? -x : x);
  if constexpr (fold == Fold::kSquares) return so_far + x * x;
  return so_far + exp_of(x - largest);
}

template <Fold fold>
inline void merge(double& result, double part) {
  result = fold == Fold::kProduct ? result * part : result + part;
}

template <Fold fold>
struct FoldBody {
  // So few rows are folded in f32 that neither rounding nor the range of it matters.
  static constexpr int64_t kRows = fold == Fold::kProduct ? 4 : 64;
  const Folding& of;
  double* result;

  template <typename V>
  void part(int64_t i) {
    const V largest = of.largest != nullptr ? load<V>(of.largest + i) : V{};
    const float* from = of.x + i;
    for (int64_t row = 0; row < of.rows;) {
      const int64_t end = row + kRows < of.rows ? row + kRows : of.rows;
      V sum = splat<V>(fold == Fold::kProduct ? 1.0f : 0.0f);
      for (; row < end; ++row, from += of.stride) sum = folded<fold>(sum, load<V>(from), largest);
      float lanes[kWidth<V>];
      store(lanes, sum);
      for (int lane = 0; lane < kWidth<V>; ++lane) merge<fold>(result[i + lane], static_cast<double>(lanes[lane]));
    }
  }
};

/// A line as several columns side by side, and what is left over.
template <Fold fold>
void fold_line(const Folding& of, double* result) {
  constexpr int64_t kColumns = 4 * kLanes;
  const int64_t rows = of.rows / kColumns;
  float largest[kColumns];
  double columns[kColumns];
  for (int64_t i = 0; i < kColumns; ++i) {
    largest[i] = of.largest != nullptr ? *of.largest : 0.0f;
    columns[i] = fold == Fold::kProduct ? 1.0 : 0.0;
  }
  const Folding wide{of.x, rows, kColumns, kColumns, fold, largest};
  FoldBody<fold> body{wide, columns};
  for (int64_t i = 0; i < kColumns; i += kLanes) body.template part<Vec>(i);
  for (int64_t i = 0; i < kColumns; ++i) merge<fold>(*result, columns[i]);
  const Folding rest{of.x + rows * kColumns, of.rows - rows * kColumns, 1, 1, fold, of.largest};
  FoldBody<fold>{rest, result}.template part<float>(0);
}

template <Fold fold>
void fold_all(const Folding& of, double* result) {
  if (of.width == 1 && of.stride == 1) return fold_line<fold>(of, result);
  FoldBody<fold> body{of, result};
  each_part(of.width, body);
}

}  // namespace

void fold_columns(const Folding& of, double* result) {
  switch (of.fold) {
    case Fold::kProduct: return fold_all<Fold::kProduct>(of, result);
    case Fold::kAbsolutes: return fold_all<Fold::kAbsolutes>(of, result);
    case Fold::kSquares: return fold_all<Fold::kSquares>(of, result);
    case Fold::kExponentials: return fold_all<Fold::kExponentials>(of, result);
  }
}

void find_extremes(const Extremes& of, float* result) {
  of.largest ? extremes_of<true>(of, result) : extremes_of<false>(of, result);
}

void channel_sums(const ChannelRows& piece, const void* x, double* sum) {
  if (piece.bf16) return sums_of<uint16_t>(piece, x, sum);
  sums_of<float>(piece, x, sum);
}

}  // namespace thalweg::simd::TW_SIMD_NS
