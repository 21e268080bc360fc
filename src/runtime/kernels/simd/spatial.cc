// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/spatial.h"

#include "runtime/kernels/simd/lanes.h"

namespace thalweg::simd::TW_SIMD_NS {
namespace {

/// One line of targets: where it lies, and which sources of the outer dimensions it is computed from.
struct Row {
  const SpatialJob& job;
  int64_t source_plane;  ///< first element of the plane
  int64_t target;        ///< first element of the line
  const AxisEntry* depth_begin;
  const AxisEntry* depth_end;
  const AxisEntry* height_begin;
  const AxisEntry* height_end;

  Row(const SpatialJob& j, int64_t row) : job(j) {
    const int64_t b = row % j.height.targets;
    const int64_t a = row / j.height.targets % j.depth.targets;
    const int64_t plane = row / j.height.targets / j.depth.targets;
    source_plane = plane * j.depth.sources * j.height.sources * j.width.sources * j.block;
    target = row * j.width.targets * j.block;
    depth_begin = j.depth.entries + j.depth.begin[a];
    depth_end = j.depth.entries + j.depth.begin[a + 1];
    height_begin = j.height.entries + j.height.begin[b];
    height_end = j.height.entries + j.height.begin[b + 1];
  }

  /// Calls body(source offset, tap, weight) for each source of target `t` of the line.
  template <typename Body>
  inline __attribute__((always_inline)) void for_each_source(int64_t t, Body body) const {
    const AxisEntry* first = job.width.entries + job.width.begin[t];
    const AxisEntry* last = job.width.entries + job.width.begin[t + 1];
    for (const AxisEntry* a = depth_begin; a != depth_end; ++a) {
      for (const AxisEntry* b = height_begin; b != height_end; ++b) {
        const int64_t line = source_plane + (a->index * job.height.sources + b->index) * job.width.sources * job.block;
        const auto tap = static_cast<int32_t>((a->tap * job.height.taps + b->tap) * job.width.taps);
        const double weight = a->weight * b->weight;
        for (const AxisEntry* c = first; c != last; ++c) {
          body(line + c->index * job.block, tap + c->tap, static_cast<float>(weight * c->weight));
        }
      }
    }
  }
};

struct Weighted {
  template <typename T, typename, int lanes>
  static void run(const Row& row, int64_t t, int64_t channel) {
    using V = Lanes<lanes>;
    const T* source = static_cast<const T*>(row.job.source) + channel;
    typename V::Float sum = {};
    row.for_each_source(t, [&](int64_t offset, int32_t, float weight) {
      typename V::Float x;
      V::load(source + offset, x);
      sum += x * weight;
    });
    V::store(static_cast<T*>(row.job.target) + row.target + t * row.job.block + channel, sum);
  }
};

struct MaxPool {
  template <typename T, typename Index, int lanes>
  static void run(const Row& row, int64_t t, int64_t channel) {
    using V = Lanes<lanes>;
    const T* source = static_cast<const T*>(row.job.source) + channel;
    typename V::Float best = {};
    best -= __builtin_inff();
    typename V::Int where = {};
    bool fresh = true;
    row.for_each_source(t, [&](int64_t offset, int32_t tap, float) {
      typename V::Float x;
      V::load(source + offset, x);
      const typename V::Int taps = typename V::Int{} + tap;
      const typename V::Int larger = (x > best) | (x != x);
      best = larger ? x : best;
      where = larger ? taps : where;
      // Even if every element is -infinity, the index must name one that exists.
      if (fresh) where = taps;
      fresh = false;
    });
    const int64_t target = row.target + t * row.job.block + channel;
    V::store(static_cast<T*>(row.job.target) + target, best);
    if (row.job.index != nullptr) V::store(static_cast<Index*>(row.job.index) + target, where);
  }
};

struct MaxPoolGrad {
  template <typename T, typename Index, int lanes>
  static void run(const Row& row, int64_t t, int64_t channel) {
    using V = Lanes<lanes>;
    const T* source = static_cast<const T*>(row.job.source) + channel;
    const Index* index = static_cast<const Index*>(row.job.index) + channel;
    typename V::Float sum = {};
    row.for_each_source(t, [&](int64_t offset, int32_t tap, float) {
      typename V::Float dy;
      typename V::Int where;
      V::load(source + offset, dy);
      V::load(index + offset, where);
      sum += where == tap ? dy : typename V::Float{};
    });
    V::store(static_cast<T*>(row.job.target) + row.target + t * row.job.block + channel, sum);
  }
};

template <typename Op, typename T, typename Index>
void run_rows(const SpatialJob& job, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    const Row row(job, r);
    for (int64_t t = 0; t < job.width.targets; ++t) {
      int64_t channel = 0;
      for (; channel + 16 <= job.block; channel += 16) Op::template run<T, Index, 16>(row, t, channel);
      for (; channel + 8 <= job.block; channel += 8) Op::template run<T, Index, 8>(row, t, channel);
      for (; channel < job.block; ++channel) Op::template run<T, Index, 1>(row, t, channel);
    }
  }
}

template <typename Op>
void run_typed(const SpatialJob& job, int64_t begin, int64_t end) {
  if (job.bf16) {
    job.byte_index ? run_rows<Op, uint16_t, uint8_t>(job, begin, end)
                   : run_rows<Op, uint16_t, int32_t>(job, begin, end);
  } else {
    job.byte_index ? run_rows<Op, float, uint8_t>(job, begin, end) : run_rows<Op, float, int32_t>(job, begin, end);
  }
}

}  // namespace

void weighted_rows(const SpatialJob& job, int64_t begin, int64_t end) { run_typed<Weighted>(job, begin, end); }
void max_pool_rows(const SpatialJob& job, int64_t begin, int64_t end) { run_typed<MaxPool>(job, begin, end); }
void max_pool_grad_rows(const SpatialJob& job, int64_t begin, int64_t end) { run_typed<MaxPoolGrad>(job, begin, end); }

}  // namespace thalweg::simd::TW_SIMD_NS
