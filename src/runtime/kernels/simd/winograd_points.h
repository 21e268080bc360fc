// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// The one-dimensional transforms of F(m, 3), and how two of them make the two-dimensional one. Included only by the
// .cc files of this folder (see dispatch.h).

#include <cstdint>

#include "runtime/kernels/simd/block_vector.h"

namespace thalweg::simd::TW_SIMD_NS {

/// Interpolation points and the matrices that follow from them; names as in Lavin and Gray (arXiv:1509.09308).
template <int m>
struct WinogradPoints;

/// Points 0, 1, -1 and infinity.
template <>
struct WinogradPoints<2> {
  using V = BlockVector;
  /// B^T d
  static void input(const V (&d)[4], V (&out)[4]) {
    out[0] = d[0] - d[2];
    out[1] = d[1] + d[2];
    out[2] = d[2] - d[1];
    out[3] = d[1] - d[3];
  }
  /// A^T p
  static void output(const V (&p)[4], V (&out)[2]) {
    out[0] = p[0] + p[1] + p[2];
    out[1] = p[1] - p[2] - p[3];
  }
  /// A y
  static void output_adjoint(const V (&y)[2], V (&out)[4]) {
    out[0] = y[0];
    out[1] = y[0] + y[1];
    out[2] = y[0] - y[1];
    out[3] = -y[1];
  }
  /// G g
  static void weights(const V (&g)[3], V (&out)[4]) {
    const V even = 0.5f * (g[0] + g[2]), odd = 0.5f * g[1];
    out[0] = g[0];
    out[1] = even + odd;
    out[2] = even - odd;
    out[3] = g[2];
  }
  /// G^T u
  static void weights_adjoint(const V (&u)[4], V (&out)[3]) {
    const V even = 0.5f * (u[1] + u[2]);
    out[0] = u[0] + even;
    out[1] = 0.5f * (u[1] - u[2]);
    out[2] = u[3] + even;
  }
};

/// Points 0, +-a, +-b and infinity with a = 1/sqrt(2), b = sqrt(2), whose squares are 1/2 and 2: three to five times
/// more accurate than +-1, +-2.
template <>
struct WinogradPoints<4> {
  using V = BlockVector;
  static constexpr float a = 0.70710678118654752f, b = 1.41421356237309505f;

  static void input(const V (&d)[6], V (&out)[6]) {
    const V even_a = d[4] - 2.0f * d[2], odd_a = a * (d[3] - 2.0f * d[1]);
    const V even_b = d[4] - 0.5f * d[2], odd_b = b * (d[3] - 0.5f * d[1]);
    out[0] = d[0] - 2.5f * d[2] + d[4];
    out[1] = even_a + odd_a;
    out[2] = even_a - odd_a;
    out[3] = even_b + odd_b;
    out[4] = even_b - odd_b;
    out[5] = d[1] - 2.5f * d[3] + d[5];
  }
  static void output(const V (&p)[6], V (&out)[4]) {
    const V sum_a = p[1] + p[2], difference_a = a * (p[1] - p[2]);
    const V sum_b = p[3] + p[4], difference_b = b * (p[3] - p[4]);
    out[0] = p[0] + sum_a + sum_b;
    out[1] = difference_a + difference_b;
    out[2] = 0.5f * sum_a + 2.0f * sum_b;
    out[3] = 0.5f * difference_a + 2.0f * difference_b + p[5];
  }
  static void output_adjoint(const V (&y)[4], V (&out)[6]) {
    const V even_a = y[0] + 0.5f * y[2], odd_a = a * (y[1] + 0.5f * y[3]);
    const V even_b = y[0] + 2.0f * y[2], odd_b = b * (y[1] + 2.0f * y[3]);
    out[0] = y[0];
    out[1] = even_a + odd_a;
    out[2] = even_a - odd_a;
    out[3] = even_b + odd_b;
    out[4] = even_b - odd_b;
    out[5] = y[3];
  }
  static void weights(const V (&g)[3], V (&out)[6]) {
    const V even_a = (-2.0f / 3) * (g[0] + 0.5f * g[2]), odd_a = (-2.0f / 3 * a) * g[1];
    const V even_b = (1.0f / 6) * (g[0] + 2.0f * g[2]), odd_b = (1.0f / 6 * b) * g[1];
    out[0] = g[0];
    out[1] = even_a + odd_a;
    out[2] = even_a - odd_a;
    out[3] = even_b + odd_b;
    out[4] = even_b - odd_b;
    out[5] = g[2];
  }
  static void weights_adjoint(const V (&u)[6], V (&out)[3]) {
    const V sum_a = (-2.0f / 3) * (u[1] + u[2]), difference_a = (-2.0f / 3 * a) * (u[1] - u[2]);
    const V sum_b = (1.0f / 6) * (u[3] + u[4]), difference_b = (1.0f / 6 * b) * (u[3] - u[4]);
    out[0] = u[0] + sum_a + sum_b;
    out[1] = difference_a + difference_b;
    out[2] = 0.5f * sum_a + 2.0f * sum_b + u[5];
  }
};

/// T in T^T: applies a one-dimensional transform to every column, then to every row. `load(y, x)` gives an element:
/// straight from memory, where the compiler would else first copy the whole square to the stack.
template <int in, int out, typename Load, typename Transform>
static inline void transform_square(const Load& load, BlockVector (&to)[out][out], const Transform& transform) {
  BlockVector half[out][in];
#pragma GCC unroll 6
  for (int x = 0; x < in; ++x) {
    BlockVector column[in], changed[out];
#pragma GCC unroll 6
    for (int y = 0; y < in; ++y) column[y] = load(y, x);
    transform(column, changed);
#pragma GCC unroll 6
    for (int y = 0; y < out; ++y) half[y][x] = changed[y];
  }
#pragma GCC unroll 6
  for (int y = 0; y < out; ++y) transform(half[y], to[y]);
}

}  // namespace thalweg::simd::TW_SIMD_NS
