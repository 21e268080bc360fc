// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// How the loops of the optimisers walk over a parameter. Included only by the .cc files of this
// folder (dispatch.h).

#include "runtime/kernels/simd/optimizer_loops.h"
#include "runtime/kernels/simd/vmath.h"

namespace thalweg::simd::TW_SIMD_NS {

/// Elements of a row whose repeated gradients are added up on the stack at a time.
static constexpr int64_t kRowChunk = 512;

/// A stretch of consecutive elements with its final gradient.
struct Block {
  float* value;
  const float* gradient;
  float* slots[kMaxSlots];
  uint16_t* bf16_copy;
  int64_t count;
  int64_t index;  // of the partial sum it belongs to
};

static inline Block block_at(const UpdateTarget& target, int64_t offset, int64_t count, const float* gradient,
                             int64_t index) {
  Block block{target.value + offset, gradient, {}, nullptr, count, index};
  for (int s = 0; s < kMaxSlots; ++s) {
    block.slots[s] = target.slots[s] == nullptr ? nullptr : target.slots[s] + offset;
  }
  if (target.bf16_copy != nullptr) block.bf16_copy = target.bf16_copy + offset;
  return block;
}

static inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

template <typename Body>
static inline void for_each_dense_block(const UpdateTarget& target, const Body& body) {
  const int64_t blocks = num_blocks(target);
#pragma omp parallel for schedule(static) if (target.count >= kThreadedElements)
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t offset = b * kOptimizerBlock;
    const int64_t count = smaller(kOptimizerBlock, target.count - offset);
    body(block_at(target, offset, count, target.gradient + offset, b));
  }
}

/// The rows lie far apart, where the hardware does not foresee the next one.
static inline void prefetch_row(const UpdateTarget& target, int64_t row) {
  constexpr int64_t kLine = 16;  // floats
  const int64_t begin = row * target.rows->row_size;
  for (int64_t i = begin; i < begin + target.rows->row_size; i += kLine) {
    __builtin_prefetch(target.value + i, 1);
    for (int s = 0; s < kMaxSlots; ++s) {
      if (target.slots[s] != nullptr) __builtin_prefetch(target.slots[s] + i, 1);
    }
  }
}

/// sum[0 ... width) = columns [column, column + width) of the listed rows of `gradients`, added up
/// in order.
static inline void add_up_columns(const float* gradients, int64_t row_size, const int64_t* order, int64_t count,
                                  int64_t column, int64_t width, float* sum) {
  for (int64_t j = 0; j < width; ++j) sum[j] = 0.0f;
  for (int64_t k = 0; k < count; ++k) {
    const float* from = gradients + order[k] * row_size + column;
    for (int64_t j = 0; j < width; ++j) sum[j] += from[j];
  }
}

template <typename Body>
static inline void visit_row(const UpdateTarget& target, int64_t i, const Body& body) {
  const RowList& list = *target.rows;
  for (int64_t column = 0; column < list.row_size; column += kRowChunk) {
    const int64_t width = smaller(kRowChunk, list.row_size - column);
    const int64_t offset = list.rows[i] * list.row_size + column;
    if (list.ready[i] != nullptr) {
      body(block_at(target, offset, width, list.ready[i] + column, i));
    } else {
      float sum[kRowChunk];
      add_up_columns(target.gradient, list.row_size, list.order + list.first[i], list.first[i + 1] - list.first[i],
                     column, width, sum);
      body(block_at(target, offset, width, sum, i));
    }
  }
}

template <typename Body>
static inline void for_each_row_block(const UpdateTarget& target, const Body& body) {
  const RowList& list = *target.rows;
  constexpr int64_t kChunk = 64;  // rows that a thread takes at a time: some cost far more than others
  int64_t taken = 0;
#pragma omp parallel if (list.count * list.row_size >= kThreadedElements)
  for (int64_t begin = 0; (begin = __atomic_fetch_add(&taken, kChunk, __ATOMIC_RELAXED)) < list.count;) {
    const int64_t end = smaller(begin + kChunk, list.count);
    for (int64_t i = begin; i < end; ++i) {
      constexpr int64_t kAhead = 2;
      if (i + kAhead < list.count) prefetch_row(target, list.rows[i + kAhead]);
      visit_row(target, i, body);
    }
  }
}

/// Calls body(block) for all elements of `target`, on several threads. Blocks with the same index
/// come from one thread, in order.
template <typename Body>
static inline void for_each_block(const UpdateTarget& target, const Body& body) {
  if (target.rows != nullptr) {
    for_each_row_block(target, body);
  } else {
    for_each_dense_block(target, body);
  }
}

static inline float prepared_gradient(const GradientTerms& terms, float gradient, float value) {
  float g = gradient * terms.scale;
  g = g > terms.clip ? terms.clip : g;
  g = g < -terms.clip ? -terms.clip : g;
  const float sign = value > 0.0f ? terms.l1 : (value < 0.0f ? -terms.l1 : 0.0f);
  return g + terms.l2 * value + sign;
}

/// Applies `rule(value, gradient, slot0, slot1, slot2) -> new value` to each element; the rule
/// changes its slots.
template <bool kCopies, typename Rule>
static inline void apply_to_block(const Rule& rule, const GradientTerms& given_terms, const Block& block) {
  // Copies, because stores through the float pointers below could alias anything in memory.
  const Rule local = rule;
  const GradientTerms terms = given_terms;
  float* __restrict value = block.value;
  const float* __restrict gradient = block.gradient;
  float* __restrict slot0 = block.slots[0];
  float* __restrict slot1 = block.slots[1];
  float* __restrict slot2 = block.slots[2];
  uint16_t* __restrict copy = block.bf16_copy;
  const int64_t count = block.count;
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f;
    if constexpr (Rule::kSlots > 0) s0 = slot0[i];
    if constexpr (Rule::kSlots > 1) s1 = slot1[i];
    if constexpr (Rule::kSlots > 2) s2 = slot2[i];
    float g = 0.0f;
    if constexpr (Rule::kUsesGradient) g = prepared_gradient(terms, gradient[i], value[i]);
    const float updated = local(value[i], g, s0, s1, s2);
    value[i] = updated;
    if constexpr (kCopies) copy[i] = float_to_bf16(updated);
    if constexpr (Rule::kSlots > 0 && Rule::kUsesGradient) slot0[i] = s0;
    if constexpr (Rule::kSlots > 1 && Rule::kUsesGradient) slot1[i] = s1;
    if constexpr (Rule::kSlots > 2 && Rule::kUsesGradient) slot2[i] = s2;
  }
}

template <typename Rule>
static inline void apply(const Rule& rule, const GradientTerms& terms, const UpdateTarget& target) {
  if (target.bf16_copy != nullptr) {
    for_each_block(target, [&](const Block& block) { apply_to_block<true>(rule, terms, block); });
  } else {
    for_each_block(target, [&](const Block& block) { apply_to_block<false>(rule, terms, block); });
  }
}

}  // namespace thalweg::simd::TW_SIMD_NS
