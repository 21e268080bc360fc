// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/spatial_row.h"
#include "runtime/kernels/simd/vec.h"

namespace thalweg::simd::TW_SIMD_NS {
namespace {

struct Sum {
  static constexpr float kNothing = 0.0F;
  template <typename V>
  static V first(V x, float weight) {
    return x * weight;
  }
  template <typename V>
  static V next(V sum, V x, float weight) {
    return sum + x * weight;
  }
};

/// A NaN stays the largest.
struct Largest {
  static constexpr float kNothing = -__builtin_inff();
  template <typename V>
  static V first(V x, float /*weight*/) {
    return x;
  }
  template <typename V>
  static V next(V best, V x, float /*weight*/) {
    return ((x > best) | (x != x)) ? x : best;
  }
};

/// Makes one line of all lines of sources, element by element.
template <typename Op, typename T>
struct MergeLines {
  const T* source;
  const SpatialLine* lines;
  const SpatialLine* end;
  float* merged;

  template <typename V>
  void part(int64_t i) {
    V value = Op::first(load<V>(source + lines->offset + i), static_cast<float>(lines->weight));
    for (const SpatialLine* line = lines + 1; line != end; ++line) {
      value = Op::next(value, load<V>(source + line->offset + i), static_cast<float>(line->weight));
    }
    store(merged + i, value);
  }
};

/// The elements of one target, whose sources are `block` floats each.
template <typename Op, typename T>
struct BlockTarget {
  const float* line;
  const AxisEntry* first;
  const AxisEntry* last;
  int64_t block;
  T* target;

  template <typename V>
  void part(int64_t channel) {
    V value = splat<V>(Op::kNothing);
    if (first != last)
      value = Op::first(load<V>(line + first->index * block + channel), static_cast<float>(first->weight));
    for (const AxisEntry* entry = first + 1; entry < last; ++entry) {
      value = Op::next(value, load<V>(line + entry->index * block + channel), static_cast<float>(entry->weight));
    }
    store(target + channel, value);
  }
};

/// Every second of 2 * kLanes floats.
static inline Vec every_second(const float* from) {
  const Vec low = load<Vec>(from), high = load<Vec>(from + kLanes);
  VecInt places;
  for (int i = 0; i < kLanes; ++i) places[i] = 2 * i;
  return __builtin_shuffle(low, high, places);
}

/// Targets of one float each whose sources lie evenly, as many as a register has, if they can be loaded at once.
template <typename Op, typename T, int stride>
int64_t even_targets(const EvenTargets& even, const float* line, int64_t sources, T* target) {
  constexpr int64_t kLoaded = stride * kLanes;
  int64_t t = even.first;
  for (; t + kLanes <= even.last; t += kLanes) {
    const float* from = line + even.base + (t - even.first) * stride;
    if (from + (even.taps - 1) * even.step + kLoaded > line + sources) break;
    const auto loaded = [&](int64_t tap) {
      if constexpr (stride == 1) return load<Vec>(from + tap * even.step);
      return every_second(from + tap * even.step);
    };
    Vec value = Op::first(loaded(0), even.weight);
    for (int64_t tap = 1; tap < even.taps; ++tap) value = Op::next(value, loaded(tap), even.weight);
    store(target + t, value);
  }
  return t;
}

/// A target of one float whose sources lie side by side and fill registers.
template <typename Op>
float long_target(const float* from, int64_t taps, float weight) {
  Vec wide = Op::first(load<Vec>(from), weight);
  int64_t i = kLanes;
  for (; i + kLanes <= taps; i += kLanes) wide = Op::next(wide, load<Vec>(from + i), weight);
  float value = wide[0];
  for (int lane = 1; lane < kLanes; ++lane) value = Op::next(value, wide[lane], 1.0F);
  for (; i < taps; ++i) value = Op::next(value, from[i], weight);
  return value;
}

template <typename Op, typename T>
int64_t long_targets(const EvenTargets& even, const float* line, T* target) {
  for (int64_t t = even.first; t < even.last; ++t) {
    store(target + t, long_target<Op>(line + even.base + (t - even.first) * even.stride, even.taps, even.weight));
  }
  return even.last;
}

/// A line of targets of one float each.
template <typename Op, typename T>
void single_targets(const SpatialJob& job, const float* line, T* target) {
  const auto one_by_one = [&](int64_t first, int64_t last) {
    for (int64_t t = first; t < last; ++t) {
      BlockTarget<Op, T> one{line, job.width.entries + job.width.begin[t], job.width.entries + job.width.begin[t + 1],
                             1, target + t};
      one.template part<float>(0);
    }
  };
  one_by_one(0, job.even.first);
  int64_t done = job.even.first;
  if (job.even.step == 1 && job.even.taps >= kLanes) {
    done = long_targets<Op, T>(job.even, line, target);
  } else if (job.even.stride == 1) {
    done = even_targets<Op, T, 1>(job.even, line, job.width.sources, target);
  } else if (job.even.stride == 2) {
    done = even_targets<Op, T, 2>(job.even, line, job.width.sources, target);
  }
  one_by_one(done, job.width.targets);
}

/// The lines of sources as one line of floats: the only one as it lies, where it can be read so.
template <typename Op, typename T>
const float* merged_line(const SpatialRow& row) {
  const SpatialJob& job = row.job;
  if constexpr (sizeof(T) == sizeof(float)) {
    if (row.lines_end == job.lines + 1 && job.lines->weight == 1.0) {
      return static_cast<const float*>(job.source) + job.lines->offset;
    }
  }
  MergeLines<Op, T> merge{static_cast<const T*>(job.source), job.lines, row.lines_end, job.merged};
  each_part(job.width.sources * job.block, merge);
  return job.merged;
}

template <typename Op, typename T>
void run_lines(const SpatialJob& job, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    const SpatialRow row(job, r);
    T* target = static_cast<T*>(job.target) + row.target;
    if (job.lines == row.lines_end) {  // windows that lie in the padding altogether
      for (int64_t i = 0; i < job.width.targets * job.block; ++i) store(target + i, Op::kNothing);
      continue;
    }
    const float* line = merged_line<Op, T>(row);
    if (job.block == 1) {
      single_targets<Op, T>(job, line, target);
      continue;
    }
    for (int64_t t = 0; t < job.width.targets; ++t) {
      BlockTarget<Op, T> one{line, job.width.entries + job.width.begin[t], job.width.entries + job.width.begin[t + 1],
                             job.block, target + t * job.block};
      each_part(job.block, one);
    }
  }
}

template <typename Op>
void run_typed(const SpatialJob& job, int64_t begin, int64_t end) {
  job.bf16 ? run_lines<Op, uint16_t>(job, begin, end) : run_lines<Op, float>(job, begin, end);
}

}  // namespace

void weighted_lines(const SpatialJob& job, int64_t begin, int64_t end) { run_typed<Sum>(job, begin, end); }
void largest_lines(const SpatialJob& job, int64_t begin, int64_t end) { run_typed<Largest>(job, begin, end); }

}  // namespace thalweg::simd::TW_SIMD_NS
