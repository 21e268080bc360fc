// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/softmax.h"

#include "runtime/kernels/simd/vec.h"

namespace thalweg::simd::TW_SIMD_NS {
namespace {

template <typename T>
struct LargestOfLine {
  const T* x;
  Vec wide = splat<Vec>(-__builtin_inff());
  float narrow = -__builtin_inff();
  template <typename V>
  void part(int64_t i) {
    if constexpr (kWidth<V> == 1) {
      narrow = larger(load<V>(x + i), narrow);
    } else {
      wide = larger(load<V>(x + i), wide);
    }
  }
  float result() const { return larger(largest_of(wide), narrow); }
};

template <typename T>
struct SumsOfLine {
  const T* x;
  float largest;
  LineSum exponentials, values;
  template <typename V>
  void part(int64_t i) {
    const V value = load<V>(x + i);
    exponentials.add(exp_of(value - splat<V>(largest)));
    values.add(value);
  }
};

template <typename T>
struct SumsOfColumns {
  const Lines& lines;
  const T* x;
  float* largest;
  float* sum;
  float* total;
  template <typename V>
  void part(int64_t j) {
    V most = splat<V>(-__builtin_inff());
    for (int64_t k = 0; k < lines.size; ++k) most = larger(load<V>(x + k * lines.stride + j), most);
    V exponentials{}, values{};
    for (int64_t k = 0; k < lines.size; ++k) {
      const V value = load<V>(x + k * lines.stride + j);
      exponentials += exp_of(value - most);
      values += value;
    }
    store(largest + j, most);
    store(sum + j, exponentials);
    if (total != nullptr) store(total + j, values);
  }
};

template <typename T>
void sums(const Lines& lines, const T* x, float* largest, float* sum, float* total) {
  if (lines.stride > 1) {
    SumsOfColumns<T> columns{lines, x, largest, sum, total};
    each_part(lines.count, columns);
    return;
  }
  LargestOfLine<T> most{x};
  each_part(lines.size, most);
  *largest = most.result();
  SumsOfLine<T> both{x, *largest, {}, {}};
  each_part(lines.size, both);
  *sum = both.exponentials.total();
  if (total != nullptr) *total = both.values.total();
}

/// y = function(x, line's constants), by lines or by columns. `vectors` has up to three constants per line.
template <typename T, typename F>
struct Map {
  const Lines& lines;
  const T* x;
  T* y;
  const float* vectors[3];
  F function;
  template <typename V>
  void part(int64_t i) {
    if (lines.stride == 1) {
      const V value = load<V>(x + i);
      store(y + i, function(value, splat<V>(*vectors[0]), splat<V>(*vectors[1]), splat<V>(*vectors[2])));
      return;
    }
    const V a = load<V>(vectors[0] + i), b = load<V>(vectors[1] + i), c = load<V>(vectors[2] + i);
    for (int64_t k = 0; k < lines.size; ++k) {
      const int64_t at = k * lines.stride + i;
      store(y + at, function(load<V>(x + at), a, b, c));
    }
  }
};

struct Exponential {
  template <typename V>
  V operator()(V x, V middle, V factor, V offset) const {
    return exp_of(x - middle) * factor + offset;
  }
};

struct Shift {
  template <typename V>
  V operator()(V x, V middle, V, V) const {
    return x - middle;
  }
};

template <typename T, typename F>
void map(const Lines& lines, const void* x, void* y, const float* a, const float* b, const float* c, F function) {
  Map<T, F> body{lines, static_cast<const T*>(x), static_cast<T*>(y), {a, b, c}, function};
  each_part(lines.stride == 1 ? lines.size : lines.count, body);
}

template <typename T, bool kLogarithm>
struct Gradient {
  const Lines& lines;
  const T* dy;
  const T* y;
  T* dx;

  template <typename V>
  static V summand(V dy_part, V y_part) {
    return kLogarithm ? dy_part : dy_part * y_part;
  }
  template <typename V>
  static V result(V dy_part, V y_part, V sum) {
    if constexpr (kLogarithm) return dy_part - exp_of(y_part) * sum;
    return y_part * (dy_part - sum);
  }
  template <typename V>
  void part(int64_t j) {
    V sum{};
    for (int64_t k = 0; k < lines.size; ++k) {
      const int64_t at = k * lines.stride + j;
      sum += summand(load<V>(dy + at), load<V>(y + at));
    }
    for (int64_t k = 0; k < lines.size; ++k) {
      const int64_t at = k * lines.stride + j;
      store(dx + at, result(load<V>(dy + at), load<V>(y + at), sum));
    }
  }
};

template <typename T, bool kLogarithm>
struct GradientSumOfLine {
  const T* dy;
  const T* y;
  LineSum sum;
  template <typename V>
  void part(int64_t i) {
    sum.add(Gradient<T, kLogarithm>::template summand<V>(load<V>(dy + i), load<V>(y + i)));
  }
};

template <typename T, bool kLogarithm>
struct GradientOfLine {
  const T* dy;
  const T* y;
  T* dx;
  float sum;
  template <typename V>
  void part(int64_t i) {
    store(dx + i, Gradient<T, kLogarithm>::template result<V>(load<V>(dy + i), load<V>(y + i), splat<V>(sum)));
  }
};

template <typename T, bool kLogarithm>
void gradient(const Lines& lines, const T* dy, const T* y, T* dx) {
  if (lines.stride > 1) {
    Gradient<T, kLogarithm> columns{lines, dy, y, dx};
    each_part(lines.count, columns);
    return;
  }
  GradientSumOfLine<T, kLogarithm> sum{dy, y, {}};
  each_part(lines.size, sum);
  GradientOfLine<T, kLogarithm> line{dy, y, dx, sum.sum.total()};
  each_part(lines.size, line);
}

template <typename T>
void gradient_of(const Lines& lines, const void* dy, const void* y, void* dx, bool logarithm) {
  const auto* from = static_cast<const T*>(dy);
  const auto* kept = static_cast<const T*>(y);
  if (logarithm) return gradient<T, true>(lines, from, kept, static_cast<T*>(dx));
  gradient<T, false>(lines, from, kept, static_cast<T*>(dx));
}

}  // namespace

void softmax_sums(const Lines& lines, const void* x, float* largest, float* sum, float* total) {
  if (lines.bf16) return sums(lines, static_cast<const uint16_t*>(x), largest, sum, total);
  sums(lines, static_cast<const float*>(x), largest, sum, total);
}

void softmax_apply(const Lines& lines, const void* x, const float* middle, const float* factor, const float* offset,
                   void* y) {
  if (lines.bf16) return map<uint16_t>(lines, x, y, middle, factor, offset, Exponential{});
  map<float>(lines, x, y, middle, factor, offset, Exponential{});
}

void softmax_shift(const Lines& lines, const void* x, const float* middle, void* y) {
  if (lines.bf16) return map<uint16_t>(lines, x, y, middle, middle, middle, Shift{});
  map<float>(lines, x, y, middle, middle, middle, Shift{});
}

void softmax_grad(const Lines& lines, const void* dy, const void* y, void* dx, bool logarithm) {
  if (lines.bf16) return gradient_of<uint16_t>(lines, dy, y, dx, logarithm);
  gradient_of<float>(lines, dy, y, dx, logarithm);
}

}  // namespace thalweg::simd::TW_SIMD_NS
