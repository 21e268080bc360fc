// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/spatial.h"

#include "runtime/kernels/simd/lanes.h"
#include "runtime/kernels/simd/spatial_row.h"
#include "runtime/kernels/simd/vec.h"

namespace thalweg::simd::TW_SIMD_NS {
namespace {

struct Row : SpatialRow {
  using SpatialRow::SpatialRow;

  /// Calls body(source offset, tap, weight) for each source of target `t` of the line.
  template <typename Body>
  inline __attribute__((always_inline)) void for_each_source(int64_t t, Body body) const {
    const AxisEntry* first = job.width.entries + job.width.begin[t];
    const AxisEntry* last = job.width.entries + job.width.begin[t + 1];
    for (const SpatialLine* line = job.lines; line != lines_end; ++line) {
      for (const AxisEntry* c = first; c != last; ++c) {
        body(line->offset + c->index * job.block, line->tap + c->tap, static_cast<float>(line->weight * c->weight));
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
      // Of vectors wider than a register the compiler compares one element at a time.
      for (; channel + kLanes <= job.block; channel += kLanes) Op::template run<T, Index, kLanes>(row, t, channel);
      for (; channel + 4 <= job.block; channel += 4) Op::template run<T, Index, 4>(row, t, channel);
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
